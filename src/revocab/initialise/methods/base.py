"""The source model, untouched and untrained: the reference of every comparison."""

from revocab.initialise.method import Method

METHOD = Method(
    name="base",
    label="Base model",
    colour="#444444",
    dash=(0, (5, 3)),
    summary="the source model as it is",
    citation="",
    keeps_vocabulary=True,
    trains=False,
)
