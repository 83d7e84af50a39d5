"""What in a model depends on its vocabulary beside embedding and LM head."""
