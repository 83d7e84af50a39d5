"""One file per command: what it reads, its job, and the call that does it."""
