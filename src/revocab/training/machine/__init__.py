"""The machine that trains: its processes, what its memory takes at once, what it costs."""
