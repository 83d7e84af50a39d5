"""Multiple choice: tasks from templates, scored by lm-evaluation-harness."""
