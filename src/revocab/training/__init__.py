"""Continual training: packing text into token rows, the recipe, the engine, held-out loss, checkpoints."""
