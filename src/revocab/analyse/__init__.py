"""Measurements over models and runs, tables, figures, and the report."""
