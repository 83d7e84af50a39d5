"""Conversations that a model answers itself, and judges of its answers."""
