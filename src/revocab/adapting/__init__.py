"""The short way: `adapt` a model to a text; `compare` two models on a text."""
