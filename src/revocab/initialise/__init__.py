"""Initialisation of the embedding rows of a new vocabulary."""
