"""Where a model may be loaded, a file each; dropping one here adds one."""
