"""Language-adaptive pretraining: the source model and tokenizer continue training unchanged."""

from revocab.initialise.method import Method, MethodOptions

METHOD = Method(
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
