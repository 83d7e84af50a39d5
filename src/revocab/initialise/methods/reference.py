"""A model of another's making, scored beside the runs of a group."""

from revocab.initialise.method import Method, MethodOptions

METHOD = Method(
    name="reference",
    label="Reference model",
    dash=(0, (1, 2)),
    summary="a finished model as it is",
    citation="",
    options=MethodOptions,
    keeps_vocabulary=True,
    trains=False,
)
