"""Which tokens two vocabularies share, and the report on it."""
