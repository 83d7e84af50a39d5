"""What is looked at: a file for each kind of fault, found by its ``KIND``."""
