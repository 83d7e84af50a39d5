"""`revocab check`: what is wrong with a model folder, whoever made it."""
