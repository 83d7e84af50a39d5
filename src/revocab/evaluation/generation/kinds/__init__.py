"""One file per kind of generation task; each defines ``KIND``. Dropping a file here adds one."""
