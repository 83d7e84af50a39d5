"""Continual training.

What is asked for stands here, from ``recipe.py`` to the ``settings.py`` of one run, and so does the
whole run, ``train.py``. Its parts have folders of their own; ``recipes/`` holds the named recipes.
"""
