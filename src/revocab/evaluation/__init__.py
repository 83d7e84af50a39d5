"""Scoring of checkpoints: multiple choice through lm-evaluation-harness, greedy generation."""
