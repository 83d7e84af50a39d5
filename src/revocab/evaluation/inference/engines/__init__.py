"""One file per inference engine, named after it; each holds one ``ENGINE``."""
