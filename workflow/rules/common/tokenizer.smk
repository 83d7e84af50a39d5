# Input and params functions of tokenizer.smk.
import yaml


def tokenizer_corpora(wildcards):
    """Return the corpora that a tokenizer is built on."""
    _, given = EXPERIMENT.tokenizers[wildcards.tokenizer].construction()
    names = [corpus for _, mixture in given.given_mixtures() for corpus in mixture]
    return corpus_files(dict.fromkeys(names))


def tokenizer_parts(wildcards):
    """Return the tokenizers that a tokenizer is built from."""
    _, given = EXPERIMENT.tokenizers[wildcards.tokenizer].construction()
    return [tokenizer_manifest(one) for _, one in given.given_tokenizers()]


def tokenizer_arguments(wildcards):
    """Return the arguments of build_tokenizer for a tokenizer: its construction, files, options."""
    name, given = EXPERIMENT.tokenizers[wildcards.tokenizer].construction()
    arguments = [name]
    flags = {"corpora": "--corpus", "count_corpora": "--count-corpus"}
    for option, mixture in given.given_mixtures():
        shares = [f"{one}={share}={corpus_folder(one)}" for one, share in mixture.items()]
        arguments += repeated(flags[option], shares)
    for option, tokenizer in given.given_tokenizers():
        arguments += [f"--{option}", tokenizer_folder(tokenizer)]
    # Values are read as YAML: a text that looks like a number (a revision may) is quoted.
    values = [
        f"{option}={value if yaml.safe_load(str(value)) == value else json.dumps(value)}"
        for option, value in given.plain().items()
    ]
    return arguments + repeated("--option", values)


def parallel_files():
    """Return the files of the parallel text that fertility is measured on."""
    parallel = EXPERIMENT.fertility.parallel
    return source_files(parallel.source) if parallel else []


def parallel_arguments():
    """Return the parallel text as options of measure_fertility."""
    parallel = EXPERIMENT.fertility.parallel
    if parallel is None:
        return []
    return ["--parallel", source_spec(parallel.source), "--languages", *parallel.languages]
