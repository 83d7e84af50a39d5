"""How a checkpoint is run: engines, the prompts they are given and what they hand back."""
