"""One file per change of a model; each defines ``CHANGE``."""
