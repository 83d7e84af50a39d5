"""The source model, untouched and untrained: the reference of every comparison."""

from revocab.initialise.method import Method, MethodOptions

METHOD = Method(
    name="base",
    label="Base model",
    colour="#444444",
    dash=(0, (5, 3)),
    summary="the source model as it is",
    citation="",
    options=MethodOptions,
    keeps_vocabulary=True,
    trains=False,
)
