# Tokenizers, built here or fetched, and how many tokens they need for a word.


rule build_tokenizer:
    input:
        unpack(needs("build_tokenizer")),
    output:
        f"{PATHS.tokenizer('{tokenizer}')}/manifest.json",
    log:
        f"{RESULTS}/logs/build_tokenizer/{{tokenizer}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("build_tokenizer"),
        python=not_recorded(PYTHON),
        job=job("build_tokenizer"),
    shell:
        "{params.python:q} scripts/build_tokenizer.py {params.job:q} 2> {log:q}"


rule measure_fertility:
    input:
        unpack(needs("measure_fertility")),
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
        code=code("measure_fertility"),
        python=not_recorded(PYTHON),
        job=job("measure_fertility"),
    shell:
        "{params.python:q} scripts/measure_fertility.py {params.job:q} 2> {log:q}"
