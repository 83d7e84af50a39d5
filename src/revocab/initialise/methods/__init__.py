"""Ways to fill rows, a file per family: each has ``METHOD``, or several; a file adds its own."""
