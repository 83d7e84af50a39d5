"""Language-adaptive pretraining: the source model and tokenizer continue training unchanged."""

from revocab.initialise.method import Method

METHOD = Method(
    name="lapt",
    summary="no new vocabulary: the source model continues training",
    citation="Chau et al. 2020, Parsing with Multilingual BERT, a Small Corpus, and a Small "
    "Treebank",
    keeps_vocabulary=True,
)
