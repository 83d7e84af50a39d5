"""The page of an experiment and its export: their sections, limitations and template."""
