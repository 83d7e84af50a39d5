# Tokenizers, built here or fetched, and how many tokens they need for a word.


use rule job as build_tokenizer with:
    input:
        unpack(needs("build_tokenizer")),
    output:
        f"{PATHS.tokenizer('{tokenizer}')}/manifest.json",
    log:
        f"{RESULTS}/logs/build_tokenizer/{{tokenizer}}.log",
    params:
        **params_of("build_tokenizer"),


use rule job as measure_fertility with:
    input:
        unpack(needs("measure_fertility")),
    output:
        manifest=f"{RESULTS}/fertility/manifest.json",
        table=f"{RESULTS}/fertility/fertility.csv",
        documents=f"{RESULTS}/fertility/documents.parquet",
        parallel=f"{RESULTS}/fertility/parallel.csv",
    log:
        f"{RESULTS}/logs/measure_fertility.log",
    params:
        **params_of("measure_fertility"),
