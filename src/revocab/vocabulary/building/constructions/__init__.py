"""One file per way of building a tokenizer; each holds one ``CONSTRUCTION``."""
