"""New tokenizers: trained, taken over, or made of another one by changing its vocabulary."""
