"""One file per method; each defines ``METHOD``. Dropping a file here is all it takes to add one."""
