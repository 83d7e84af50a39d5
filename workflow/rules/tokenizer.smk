# Tokenizers, built here or fetched, and how many tokens they need for a word.


rule build_tokenizer:
    input:
        corpora=tokenizer_corpora,
        tokenizers=tokenizer_parts,
        code=code("build_tokenizer", "vocabulary/constructions"),
    output:
        f"{RESULTS}/tokenizers/{{tokenizer}}/manifest.json",
    log:
        f"{RESULTS}/logs/build_tokenizer/{{tokenizer}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        arguments=tokenizer_arguments,
        out=folder,
    shell:
        "{params.python:q} scripts/build_tokenizer.py {params.arguments:q} --out {params.out:q} 2> {log:q}"


rule measure_fertility:
    input:
        tokenizers=[tokenizer_manifest(one) for one in EXPERIMENT.fertility.tokenizers],
        corpora=corpus_files(EXPERIMENT.fertility.corpora),
        parallel=parallel_files(),
        code=code("measure_fertility"),
    output:
        manifest=f"{RESULTS}/fertility/manifest.json",
        table=f"{RESULTS}/fertility/fertility.csv",
        documents=f"{RESULTS}/fertility/documents.parquet",
        parallel=f"{RESULTS}/fertility/parallel.csv",
    log:
        f"{RESULTS}/logs/measure_fertility.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
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
            splitter=EXPERIMENT.fertility.splitter,
        )
        + parallel_arguments(),
        out=folder,
    shell:
        "{params.python:q} scripts/measure_fertility.py {params.arguments:q} --out {params.out:q} 2> {log:q}"
