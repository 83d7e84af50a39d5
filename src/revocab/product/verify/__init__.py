"""Whether a folder gives the same tokens, text and logits wherever it is loaded."""
