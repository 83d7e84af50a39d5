"""Probes: multiple-choice items made by rule from held-out text."""
