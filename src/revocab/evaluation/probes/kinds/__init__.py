"""One file per kind of probe; each defines ``PROBE``. Dropping a file here adds one."""
