"""How much the seed moves the new rows of the methods that draw: norms and fit, as a table.

python benchmarks/seeds.py --source MODEL --helper MODEL --target-tokenizer TOKENIZER
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean, stdev

#: Stands for half of the shared tokens.
HALF = -2
#: Options for a seed; sava's first weights have a seed of their own.
METHODS = {
    "random": ("random", lambda seed: {}),
    "sava sgd": ("sava", lambda seed: {"fit_seed": seed}),
    "sava lstsq": ("sava", lambda seed: {"solver": "lstsq"}),
    "sava sgd, half of the anchors": ("sava", lambda seed: {"fit_seed": seed, "anchors": HALF}),
    "sava sgd, 200 anchors": ("sava", lambda seed: {"fit_seed": seed, "anchors": 200}),
    "sava lstsq, half of the anchors": ("sava", lambda seed: {"solver": "lstsq", "anchors": HALF}),
}
COLUMNS = {
    "mean norm of new rows": lambda row: row["norm_new"]["mean"],
    "new / copied": lambda row: (
        row["norm_new"]["mean"] / row["norm_copied"]["mean"] if row["norm_copied"]["mean"] else None
    ),
    "cosine to their mean": lambda row: row["cosine_to_mean_new"],
    "cosine on held-out anchors": lambda row: row["method"].get("held_out_cosine"),
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
    from revocab.initialise.options import InitInputs, InitJob
    from revocab.initialise.reading.material import Material
    from revocab.initialise.reading.vocabularies import Vocabularies
    from revocab.progress import silent

    vocabularies = Vocabularies(arguments.source, arguments.target_tokenizer)
    shared = len(vocabularies.intersection.target_ids)
    print(f"{shared} shared, {len(vocabularies.intersection.missing)} new tokens")
    print(f"| method | {' | '.join(COLUMNS)} |")
    print(f"| --- |{' ---: |' * len(COLUMNS)}")
    for name, (method, options) in METHODS.items():
        described = []
        for seed in arguments.seeds:
            chosen = {"method": method, "seed": seed, **options(seed)}
            if chosen.get("anchors") == HALF:
                chosen["anchors"] = shared // 2
            inputs = InitInputs(
                source=arguments.source,
                target_tokenizer=arguments.target_tokenizer,
                helper=arguments.helper if methods()[method].needs_helper else None,
            )
            material = Material.open(inputs, checked(InitJob, chosen), "cpu", silent)
            described.append(initialise_matrices(material, silent).described["input"])
        cells = [cell([column(each) for each in described]) for column in COLUMNS.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
