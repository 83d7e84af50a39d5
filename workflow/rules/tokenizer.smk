# Tokenizers, built here or fetched, and how many tokens they need for a word.


rule build_tokenizer:
    input:
        corpora=lambda w: LAYOUT.construction_files(w.tokenizer, "corpora"),
        count_corpora=lambda w: LAYOUT.construction_files(w.tokenizer, "count_corpora"),
        base=lambda w: LAYOUT.construction_files(w.tokenizer, "base"),
        donor=lambda w: LAYOUT.construction_files(w.tokenizer, "donor"),
        chat=lambda w: LAYOUT.construction_files(w.tokenizer, "chat"),
        template=lambda w: LAYOUT.construction_files(w.tokenizer, "template"),
        words=lambda w: LAYOUT.construction_files(w.tokenizer, "words"),
    output:
        manifest(PATHS.tokenizer("{tokenizer}")),
    log:
        f"{RESULTS}/logs/build_tokenizer/{{tokenizer}}.log",
    conda:
        CORE
    params:
        **decided(
            "build_tokenizer",
            lambda w: options.tokenizer(EXPERIMENT, w.tokenizer),
            path=lambda w: LAYOUT.construction_files(
                w.tokenizer, "path"
            ),  # it may lie outside the workflow: nothing makes it
        ),
    shell:
        "{params.python:q} -m revocab build_tokenizer --corpora {input.corpora:q}"
        " --count-corpora {input.count_corpora:q} --base {input.base:q} --donor {input.donor:q}"
        " --chat {input.chat:q} --template {input.template:q} --path {params.path:q}"
        " --words {input.words:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"
        f"  # {code_of('build_tokenizer')}"


rule measure_fertility:
    input:
        tokenizers=LAYOUT.tokenizers(EXPERIMENT.fertility.tokenizers),
        corpora=LAYOUT.corpora(EXPERIMENT.fertility.corpora),
        parallel_files=LAYOUT.parallel_files,
    output:
        manifest=manifest(PATHS.fertility),
        table=f"{PATHS.fertility}/fertility.csv",
        documents=f"{PATHS.fertility}/documents.parquet",
        parallel=f"{PATHS.fertility}/parallel.csv",
    log:
        f"{RESULTS}/logs/measure_fertility.log",
    conda:
        CORE
    params:
        **decided(
            "measure_fertility",
            lambda w: options.fertility(EXPERIMENT),
            order=lambda w: [
                EXPERIMENT.fertility.tokenizers,
                EXPERIMENT.fertility.corpora,
                LAYOUT.parallel_files,
            ],
        ),
        code=code_of("measure_fertility"),
    shell:
        "{params.python:q} -m revocab measure_fertility --tokenizers {input.tokenizers:q}"
        " --corpora {input.corpora:q} --parallel-files {input.parallel_files:q}"
        " --out {output.manifest:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"
