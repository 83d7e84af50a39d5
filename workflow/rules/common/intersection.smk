# Input and params functions of intersection.smk.


def identity_of(wildcards):
    """Return the token identity of the runs between two tokenizers (bytes where no run says)."""
    pair = (wildcards.source, wildcards.target)
    found = [run.identity for run in RUNS.values() if (run.source_tokenizer, run.target) == pair]
    return found[0] if found else "bytes"


def role_arguments(wildcards):
    """Return the declared roles of both tokenizers as options."""
    arguments = []
    for side in ("source", "target"):
        roles = EXPERIMENT.roles.get(wildcards[side], {})
        declared = [f"{spelling}={role}" for spelling, role in roles.items()]
        arguments += repeated(f"--{side}-roles", declared)
    return arguments


def intersection_pairs():
    """Return every pair of tokenizers to intersect: what runs need, and what the file adds."""
    needed = [
        (run.source_tokenizer, run.target)
        for run in RUNS.values()
        if run.source_tokenizer != run.target
    ]
    extra = list(EXPERIMENT.intersections)
    if EXPERIMENT.scale:
        extra.append((EXPERIMENT.scale.source_tokenizer, EXPERIMENT.scale.target_tokenizer))
    return [f"{source}--{target}" for source, target in dict.fromkeys(needed + extra)]
