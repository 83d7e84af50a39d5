"""What tables of every kind are made of: cells, rows, and their CSV, Markdown, LaTeX and HTML."""
