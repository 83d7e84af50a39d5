"""How much the seed moves the new rows of the methods that draw: norms and fit, as a table.

python benchmarks/seeds.py --source MODEL --helper MODEL --target-tokenizer TOKENIZER
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean, stdev

#: Options for a seed; sava's first weights have a seed of their own.
METHODS = {
    "random": ("random", lambda seed: {}),
    "sava sgd": ("sava", lambda seed: {"fit_seed": seed}),
    "sava lstsq": ("sava", lambda seed: {"solver": "lstsq"}),
    "sava sgd, half of the anchors": ("sava", lambda seed: {"fit_seed": seed, "anchors": -2}),
    "sava sgd, 200 anchors": ("sava", lambda seed: {"fit_seed": seed, "anchors": 200}),
    "sava lstsq, half of the anchors": ("sava", lambda seed: {"solver": "lstsq", "anchors": -2}),
}
COLUMNS = {
    "mean norm of new rows": lambda found: found["norm_new"]["mean"],
    "new / copied": lambda found: (
        found["norm_new"]["mean"] / found["norm_copied"]["mean"]
        if found["norm_copied"]["mean"]
        else None
    ),
    "cosine to their mean": lambda found: found["cosine_to_mean_new"],
    "cosine on held-out anchors": lambda found: found["method"].get("held_out_cosine"),
}


def cell(values: list[float | None]) -> str:
    if None in values:
        return "–"
    return f"{mean(values):.4f} ± {stdev(values):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--helper", type=Path, required=True)
    parser.add_argument("--target-tokenizer", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()

    from revocab.closed import checked
    from revocab.initialise.adapted_model import initialise_matrices
    from revocab.initialise.method import methods
    from revocab.initialise.options import ChosenMethod
    from revocab.initialise.reading.helper import Helper
    from revocab.initialise.reading.material import Material
    from revocab.initialise.reading.vocabularies import Vocabularies
    from revocab.models.folder import ModelFolder

    vocabularies = Vocabularies(arguments.source, arguments.target_tokenizer)
    source = ModelFolder(arguments.source)
    helper = Helper.open(arguments.helper, vocabularies.target_tokenizer)
    shared = len(vocabularies.intersection.target_ids)
    print(f"{shared} shared, {len(vocabularies.intersection.missing)} new tokens")
    print(f"| method | {' | '.join(COLUMNS)} |")
    print(f"| --- |{' ---: |' * len(COLUMNS)}")
    for name, (method_name, options) in METHODS.items():
        method, found = methods()[method_name], []
        for seed in arguments.seeds:
            given = options(seed)
            if given.get("anchors") == -2:
                given["anchors"] = shared // 2
            chosen = checked(ChosenMethod, {"method": method_name, **given})
            helped = method.needs_helper
            material = Material(method, chosen, source, vocabularies, helper if helped else None)
            described = initialise_matrices(material, seed=seed).described
            found.append(described["input"])
        cells = [cell([column(one) for one in found]) for column in COLUMNS.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
