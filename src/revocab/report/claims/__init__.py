"""One file per kind of claim; each defines ``CLAIMS``. Dropping a file here adds one."""
