"""Text into rows of tokens: packing, mixing, the order in which rows are read, held-out windows."""
