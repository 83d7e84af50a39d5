"""`revocab publish`: what of a model folder goes to the Hub, and how."""
