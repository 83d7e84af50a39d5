"""Vocabularies: what a token stands for, which tokens two vocabularies share, how one is built."""
