"""Is a new vocabulary worth it? What a text costs today, what others would save, what that takes."""
