# Tokenizers, built here or fetched, and how many tokens they need for a word.


def built_from(key):
    """Return the input function of one option of a construction."""
    return lambda w: LAYOUT.construction_files(w.tokenizer, key)


rule build_tokenizer:
    input:
        corpora=built_from("corpora"),
        count_corpora=built_from("count_corpora"),
        base=built_from("base"),
        donor=built_from("donor"),
        chat=built_from("chat"),
        template=built_from("template"),
    output:
        manifest(PATHS.tokenizer("{tokenizer}")),
    log:
        f"{RESULTS}/logs/build_tokenizer/{{tokenizer}}.log",
    conda:
        CORE
    params:
        **decided(
            lambda w: options.tokenizer(EXPERIMENT, w.tokenizer),
            path=built_from("path"),  # it may lie outside the workflow: nothing makes it
        ),
        machine=machine("build_tokenizer"),
    shell:
        "{PYTHON:q} -m revocab build_tokenizer --corpora {input.corpora:q}"
        " --count-corpora {input.count_corpora:q} --base {input.base:q} --donor {input.donor:q}"
        " --chat {input.chat:q} --template {input.template:q} --path {params.path:q}"
        " --out {output:q}" + END + lasting("build_tokenizer")


rule measure_fertility:
    input:
        tokenizers=LAYOUT.tokenizers(EXPERIMENT.fertility.tokenizers),
        corpora=LAYOUT.corpora(EXPERIMENT.fertility.corpora),
        parallel_files=lambda w: (
            LAYOUT.source_files(EXPERIMENT.fertility.parallel.source)
            if EXPERIMENT.fertility.parallel
            else []
        ),
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
        **decided(lambda w: options.fertility(EXPERIMENT)),
        code=code_of("measure_fertility"),
        machine=machine("measure_fertility"),
    shell:
        "{PYTHON:q} -m revocab measure_fertility --tokenizers {input.tokenizers:q}"
        " --corpora {input.corpora:q} --parallel-files {input.parallel_files:q}"
        " --out {output.manifest:q}" + END
