"""Continual training: packing, the recipe, the engine, held-out loss, checkpoints."""
