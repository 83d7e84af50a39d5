"""The formats, one file each: a ``FORMAT`` (:class:`revocab.product.export.export.Format`)."""
