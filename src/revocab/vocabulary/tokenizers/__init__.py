"""Tokenizers as they are: loading them, and what each of their tokens stands for."""
