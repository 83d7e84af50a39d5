"""Kinds of generation tasks: each file has one or several as ``KIND``."""
