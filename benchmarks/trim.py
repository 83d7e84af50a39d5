"""``revocab trim`` beside trimbed, and beside dropping the least used ids, at the same size.

A random model gets a real tokenizer. trimbed, from PyPI in an environment of its own, trims it by
the coverage asked for; ours, and the plain way (without a model), then keep as many tokens. Both
programs are whole commands, with their own checks.

    python -m venv VENV && VENV/bin/pip install "trimbed[model]==0.0.4"  # Python 3.12
    python benchmarks/trim.py --tokenizer FOLDER --text FILE --unseen FILE --language it \
        --work FOLDER [--python VENV/bin/python]

FILE: JSON lines with ``text``, also .gz. Without ``--python``, ours has ``--coverage`` itself.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from conversion import SHAPES, folder_size, write_model
from support.measure import measure

PLAIN = "least used ids"


def documents(file: Path, lines: int) -> list[str]:
    """Return the first ``lines`` lines of a file's documents that are not empty."""
    from revocab.io import read_jsonl

    texts = (line for row in read_jsonl(file) for line in row["text"].splitlines() if line.strip())
    return list(itertools.islice(texts, lines))


def write_plain(base: Path, kept: set[int], out: Path) -> None:
    """Write a BPE tokenizer of some ids alone, without the merges that name others."""
    from revocab.models.folder import copy_tokenizer

    out.mkdir()
    copy_tokenizer(base, out)
    state = json.loads((base / "tokenizer.json").read_text(encoding="utf-8"))
    ids = state["model"]["vocab"]
    vocabulary = [token for token in sorted(ids, key=ids.__getitem__) if ids[token] in kept]
    new = {token: number for number, token in enumerate(vocabulary)}
    pairs = (m if isinstance(m, list) else m.split(" ") for m in state["model"]["merges"])
    state["model"] |= {
        "vocab": new,
        "merges": [pair for pair in pairs if {*pair, "".join(pair)} <= new.keys()],
    }
    for token in state["added_tokens"]:
        token["id"] = new[token["content"]]
    for named in ((state.get("post_processor") or {}).get("special_tokens") or {}).values():
        named["ids"] = [new[token] for token in named["tokens"]]
    (out / "tokenizer.json").write_text(json.dumps(state), encoding="utf-8")


def least_used_dropped(base: Any, uses_V: Any, keep: int) -> set[int]:
    """Return the most used ids, with those of bytes and special tokens."""
    from revocab.vocabulary.building.editable import EditableVocabulary

    vocabulary = EditableVocabulary.read(base)
    kept = {vocabulary.ids[token] for token in vocabulary.protected}
    order = sorted(range(len(uses_V)), key=lambda number: (-uses_V[number], number))
    more = (number for number in order if number not in kept)
    return kept | {*itertools.islice(more, keep - len(kept))}


class Side:
    """A trimmed tokenizer, and perhaps its model, beside the base's."""

    def __init__(self, base: Any, folder: Path, source: Path | None):
        from revocab.vocabulary.tokenizers.load import load_tokenizer

        self.base, self.made = base, load_tokenizer(folder)
        self.folder, self.source = folder, source
        tokens = self.made.convert_ids_to_tokens(range(len(self.made)))
        self.kept = base.convert_tokens_to_ids(tokens)

    def coverage(self, uses_V: Any) -> str:
        return f"{uses_V[self.kept].sum() / uses_V.sum():.4%}"

    def cut_otherwise(self, lines: Sequence[str]) -> tuple[int, int, int]:
        """Return the lines of kept tokens alone, those of them that are cut otherwise than before,
        and the lines of all that decode otherwise.
        """
        new = {old: number for number, old in enumerate(self.kept)}
        befores, afters = (
            [one.ids for one in tokenizer.backend_tokenizer.encode_batch(list(lines))]
            for tokenizer in (self.base, self.made)
        )
        alone = other = wrong = 0
        for before, after in zip(befores, afters, strict=True):
            if all(number in new for number in before):
                alone += 1
                other += [new[number] for number in before] != after
            wrong += self.made.decode(after) != self.base.decode(before)
        return alone, other, wrong

    def rows_equal(self) -> str:
        """Return how many rows of each table are the source's, bit for bit."""
        from revocab.models.folder import ModelFolder

        assert self.source is not None
        old, new = ModelFolder(self.source), ModelFolder(self.folder)
        counts = {
            int((new.read(name)[: len(self.kept)] == old.read(name)[self.kept]).all(1).sum())
            for name in old.vocabulary_names.values()
        }
        return " and ".join(f"{count:,}" for count in sorted(counts))

    def rows(self, uses_V: Any, unseen_V: Any, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
        from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary, unreachable

        alone, other, wrong = self.cut_otherwise(lines)
        words = sum(len(line.split()) for line in lines)
        encoded = self.made.backend_tokenizer.encode_batch(list(lines), add_special_tokens=False)
        yield "tokens", f"{len(self.made):,}"
        yield "coverage, counted text", self.coverage(uses_V)
        yield "coverage, unseen text", self.coverage(unseen_V)
        yield "tokens per word, unseen text", f"{sum(map(len, encoded)) / words:.4f}"
        yield "unseen lines of kept tokens alone", f"{alone:,}"
        yield "of these cut otherwise than before", f"{other:,}"
        yield "unseen lines that decode otherwise", f"{wrong:,}"
        lost = unreachable(self.made, canonical_vocabulary(self.made))
        yield "unreachable tokens", f"{len(lost):,}"
        if self.source is not None:
            yield "rows of the source, bit for bit", self.rows_equal()
            yield "model, GB", f"{folder_size(self.folder):.3f}"


def theirs(options: argparse.Namespace, source: Path, text: Path, out: Path) -> list[str]:
    """Return the command of trimbed, after writing its configuration."""
    config = {
        "model": str(source.absolute()),
        "output_dir": str(out.absolute()),
        "corpus": {"datasets": [{"path": "json", "data_files": str(text.absolute())}]},
        "selection": {"coverage": options.coverage},
        "embeddings": {"dtype": "bfloat16"},
    }
    file = options.work / "trimbed.yaml"
    file.write_text(json.dumps(config))  # which is YAML, too
    return [str(options.python), "-m", "trimbed.cli", "trim", "--quiet", "--config", str(file)]


def table(sides: dict[str, dict[str, str]]) -> str:
    measures = list(dict.fromkeys(itertools.chain.from_iterable(sides.values())))
    head = ["| |", *(f" {name} |" for name in sides)]
    rows = ["".join([f"| {m} |", *(f" {side.get(m, '–')} |" for side in sides.values())])
            for m in measures]  # fmt: skip
    return "\n".join(["".join(head), f"| --- |{' ---: |' * len(sides)}", *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True, help="in which tokens are counted")
    parser.add_argument("--unseen", type=Path, required=True)
    parser.add_argument("--language", required=True, help="of the text, by its code")
    parser.add_argument("--work", type=Path, required=True, help="a new folder; it stays")
    parser.add_argument("--python", type=Path, help="Python of trimbed's environment")
    parser.add_argument("--coverage", type=float, default=0.9999)
    parser.add_argument("--lines", type=int, default=20_000, help="lines of the text")
    parser.add_argument("--unseen-lines", type=int, default=5_000)
    parser.add_argument("--shape", choices=list(SHAPES), default="small")
    options = parser.parse_args()

    from revocab.io import write_jsonl
    from revocab.vocabulary.building.constructions.trim import count_ids
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    work = options.work
    work.mkdir(parents=True)
    source, text = work / "source", work / "text.jsonl"
    write_model(source, options.tokenizer, SHAPES[options.shape], 2)
    counted, unseen = (
        documents(file, lines)
        for file, lines in ((options.text, options.lines), (options.unseen, options.unseen_lines))
    )
    write_jsonl(text, ({"text": line} for line in counted))
    base = load_tokenizer(source)
    uses = [count_ids(base, lines) for lines in (counted, unseen)]
    costs, size = {}, ["--coverage", str(options.coverage)]
    if options.python is not None:
        costs["trimbed"] = measure(theirs(options, source, text, work / "trimbed"))
        size = ["--keep", str(len(load_tokenizer(work / "trimbed")))]
    ours = [sys.executable, "-m", "revocab", "trim", str(source), f"{options.language}={text}"]
    costs["revocab"] = measure([*ours, *size, "--out", str(work / "revocab")])
    sides: dict[str, dict[str, str]] = {}
    for name, (seconds, processor, peak) in costs.items():
        cost = {"seconds": f"{seconds:.1f}", "of processor time": f"{processor:.1f}",
                "peak memory, GiB": f"{peak:.2f}"}  # fmt: skip
        sides[name] = {**dict(Side(base, work / name, source).rows(*uses, unseen)), **cost}
    keep = len(load_tokenizer(work / "revocab"))
    write_plain(source, least_used_dropped(base, uses[0], keep), work / "plain")
    sides[PLAIN] = dict(Side(base, work / "plain", None).rows(*uses, unseen))
    whole = dict(Side(base, source, source).rows(*uses, unseen))
    print(table({"as it was": whole, **sides}))
    if len(costs) > 1:
        ratios = (a / b for a, b in zip(costs["trimbed"], costs["revocab"], strict=True))
        print("trimbed by ours: {:.1f} seconds, {:.1f} processor, {:.1f} memory".format(*ratios))


if __name__ == "__main__":
    main()
