"""What papers state in words, measured by their printed values and by our results."""
