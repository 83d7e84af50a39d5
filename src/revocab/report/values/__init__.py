"""The numbers that a cell or a point may show of a run, each asked for in an experiment file."""
