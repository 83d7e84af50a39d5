"""One file per judge; each holds one ``JUDGE``."""
