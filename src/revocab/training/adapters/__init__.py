"""Low-rank and vocabulary adapters: what is trained beside a model's own weights."""
