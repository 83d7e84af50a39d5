# Tokenizers, built here or fetched, and how many tokens they need for a word.


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


rule build_tokenizer:
    input:
        corpora=tokenizer_corpora,
        code=code("build_tokenizer"),
    output:
        f"{RESULTS}/tokenizers/{{tokenizer}}/manifest.json",
    log:
        f"{RESULTS}/logs/build_tokenizer/{{tokenizer}}.log",
    params:
        arguments=tokenizer_arguments,
        out=folder,
    shell:
        "{PYTHON:q} scripts/build_tokenizer.py {params.arguments:q} --out {params.out:q} 2> {log:q}"


rule measure_fertility:
    input:
        tokenizers=[tokenizer_manifest(one) for one in EXPERIMENT.fertility.tokenizers],
        corpora=corpus_files(EXPERIMENT.fertility.corpora),
        code=code("measure_fertility"),
    output:
        manifest=f"{RESULTS}/fertility/manifest.json",
        table=f"{RESULTS}/fertility/fertility.csv",
        documents=f"{RESULTS}/fertility/documents.parquet",
    log:
        f"{RESULTS}/logs/measure_fertility.log",
    params:
        arguments=repeated(
            "--tokenizer",
            [f"{one}={tokenizer_folder(one)}" for one in EXPERIMENT.fertility.tokenizers],
        )
        + repeated(
            "--corpus", [f"{one}={corpus_folder(one)}" for one in EXPERIMENT.fertility.corpora]
        )
        + options(
            limit_documents=EXPERIMENT.fertility.limit_documents,
            limit_bytes=EXPERIMENT.fertility.limit_bytes,
        ),
        out=folder,
    shell:
        "{PYTHON:q} scripts/measure_fertility.py {params.arguments:q} --out {params.out:q} 2> {log:q}"
