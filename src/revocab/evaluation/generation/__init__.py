"""Greedy generation: kinds of tasks, their prompts, what models write, and its metrics."""
