"""From a results folder to one long table of scores, tables, figures, checks and one page.

``tables``, ``figures`` and ``claims`` have one kind a file, found by name. They stand on
``values``, ``pivot``, ``table`` and ``drawing``, and those on ``results`` and ``published``,
which read files. ``page`` puts all on one page.
"""
