"""Generation: kinds of tasks, their prompts, what models write, and its metrics."""
