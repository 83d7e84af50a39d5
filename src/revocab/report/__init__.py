"""From a results folder to one long table of scores, tables, figures, checks and one page."""
