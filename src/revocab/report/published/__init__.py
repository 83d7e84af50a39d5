"""The values that papers publish, read from files, in the units of our own scores."""
