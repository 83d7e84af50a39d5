"""Whether a new vocabulary is worth it: what a text costs, what others would save and take."""
