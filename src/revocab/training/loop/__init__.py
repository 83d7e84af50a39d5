"""The steps of a training: the trainer, its loss, and what is measured between steps."""
