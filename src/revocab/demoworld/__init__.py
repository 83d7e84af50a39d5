"""The demo's world: Italian and English text about invented people and places, from our lexicon.

``lexicon`` and ``wordings`` are tables, ``grammar`` inflects their words, ``names`` invents people
and places; ``facts`` and ``stories`` say everything in both languages; ``items`` and
``conversations`` ask about it, and ``build`` writes the folder.
"""
