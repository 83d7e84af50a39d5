"""Measures of tokenizers on text: fertility, words split, unknown tokens, bytes, parity."""
