"""What figures of every kind share: style, colours of runs, axes of losses, curves over seeds."""
