"""Continual training.

``recipe.py``, ``stages.py`` and ``run.py`` say what is to be done, ``train.py`` is the whole run,
``loop.py`` its steps. ``data/`` and ``chat/`` make rows of text and conversations; ``recipes/`` has
the named recipes.
"""
