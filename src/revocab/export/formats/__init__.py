"""The formats, one file each: a ``FORMAT`` (:class:`revocab.export.export.Format`)."""
