"""One file per kind of figure; each defines ``FIGURE``. Dropping a file here adds one."""
