"""Vocabularies: tokenizers read and built, intersected, and what text costs in them."""
