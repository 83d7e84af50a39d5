"""The source model, untouched and untrained: the reference of every comparison."""

from revocab.initialise.method import Method

METHOD = Method(
    name="base",
    summary="the source model as it is",
    citation="",
    keeps_vocabulary=True,
    trains=False,
)
