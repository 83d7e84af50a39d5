"""One file per kind of table; each defines ``TABLE``. Dropping a file here adds one."""
