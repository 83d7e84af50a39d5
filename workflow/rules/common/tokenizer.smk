# Input and params functions of tokenizer.smk.


def tokenizer_corpora(wildcards):
    """Return the corpora that a tokenizer is trained on."""
    train = EXPERIMENT.tokenizers[wildcards.tokenizer].train
    return corpus_files(train.corpora) if train else []


def tokenizer_arguments(wildcards):
    """Return the options of build_tokenizer for a tokenizer."""
    tokenizer = EXPERIMENT.tokenizers[wildcards.tokenizer]
    train = tokenizer.train
    if train is None:
        return options(path=tokenizer.path, hub=tokenizer.hub, revision=tokenizer.revision)
    shares = [f"{one}={share}={corpus_folder(one)}" for one, share in train.corpora.items()]
    return repeated("--train", shares) + options(
        alphabet=train.alphabet,
        vocabulary_size=train.vocabulary_size,
        limit_bytes=train.limit_bytes,
    )
