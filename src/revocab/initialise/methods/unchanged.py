"""Models that keep their vocabulary: the source as it is or trained on, and another's model."""

from revocab.initialise.method import Method, MethodOptions

BASE = Method(
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
#: Language-adaptive pretraining.
LAPT = Method(
    name="lapt",
    label="LAPT",
    colour="#D55E00",
    dash=(0, (4, 1.5, 1, 1.5)),
    summary="no new vocabulary: the source model continues training",
    citation="Chau et al. 2020, Parsing with Multilingual BERT, a Small Corpus, and a Small "
    "Treebank",
    options=MethodOptions,
    keeps_vocabulary=True,
)
#: A model of another's making, scored beside the runs of a group.
REFERENCE = Method(
    name="reference",
    label="Reference model",
    dash=(0, (1, 2)),
    summary="a finished model as it is",
    citation="",
    options=MethodOptions,
    keeps_vocabulary=True,
    trains=False,
)
METHOD = (BASE, LAPT, REFERENCE)
