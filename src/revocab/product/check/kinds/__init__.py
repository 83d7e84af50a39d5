"""What is looked at: files of kinds of faults, found by their ``KIND``."""
