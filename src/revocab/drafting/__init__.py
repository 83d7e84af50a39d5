"""Draft models for speculative decoding that share a target's vocabulary."""
