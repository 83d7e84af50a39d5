"""Tokens that ``extend`` adds to a byte-level vocabulary beside those of the method's release.

Both continue the base's own merges on the same text: ours as a command, theirs (a checkout of
taidopurason/tokenizer-extension, arXiv 2512.03989) in a process of its own. The second text has no
apostrophes: GPT-2's splitter leaves one before a word, and ours adds no token of marks and letters.

    python benchmarks/extension.py --work FOLDER --checkout FOLDER [--added 500]
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from support.measure import measure

#: Runs in the other process: checkout, base, documents, number, file to write.
THEIRS = """
import gzip, json, sys
checkout, base, documents, added, out = sys.argv[1:]
sys.path.insert(0, checkout)
from tokenizer_extension.extension import extend_tokenizer
from tokenizer_extension.train_vocab_extension import train_vocab_extension
from transformers import PreTrainedTokenizerFast
tokenizer = PreTrainedTokenizerFast.from_pretrained(base)
texts = [json.loads(line)["text"] for line in gzip.open(documents, "rt", encoding="utf-8")]
made = train_vocab_extension(tokenizer=tokenizer, corpus=texts, extension_size=int(added))
extended = extend_tokenizer(tokenizer, new_vocab=made["vocab"], new_merges=made["merges"],
                            n_tokens=int(added), keep_added_token_positions=False)
extended.save_pretrained(out)
json.dump(list(made["vocab"]), open(out + "/added.json", "w"))
"""


def count_tokens(folder: Path, corpus: Path) -> int:
    from revocab.corpora.read import texts
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    tokenizer = load_tokenizer(folder)
    return sum(len(tokenizer.tokenize(text)) for text in texts(corpus, "heldout"))


def compare(work: Path, texts: Iterable[str], checkout: Path, added: int) -> None:
    """Print times, memory, the tokens of both, and their counts on held-out text."""
    work.mkdir()
    with gzip.open(work / "it.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    base, corpus, ours, theirs = (work / name for name in ("../base", "corpus", "ours", "theirs"))
    revocab = [sys.executable, "-m", "revocab"]
    prepare = [
        *revocab,
        "prepare",
        "--corpus",
        "it",
        "--language",
        "it",
        "--heldout-bytes",
        "40000",
    ]
    build = [*revocab, "tokenizer", "extend", "--base", str(base)]
    build += ["--corpora", f"it={corpus}", "--add", str(added), "--out", str(ours)]
    commands = {
        "text": [*prepare, "--files", str(work / "it.jsonl.gz"), "--out", str(corpus)],
        "ours": build,
        "theirs": [sys.executable, "-c", THEIRS, str(checkout), str(base),
                   str(corpus / "train.jsonl.gz"), str(added), str(theirs)],
    }  # fmt: skip
    for name, command in commands.items():
        seconds, _, peak = measure(command, work / f"{name}.log")
        if name != "text":
            print(f"  {name}: {seconds:.1f} s, {peak:.2f} GiB")
    our_tokens = [row["token"] for row in json.loads((ours / "changes.json").read_text())["added"]]
    their_tokens = json.loads((theirs / "added.json").read_text())
    alike = [ours == theirs for ours, theirs in zip(our_tokens, their_tokens, strict=True)]
    first = alike.index(False) if False in alike else len(alike)
    shared = len({*our_tokens} & {*their_tokens})
    print(f"  {shared} of {len(their_tokens)} tokens the same, the first {first} in the same order")
    print(f"  only theirs: {sorted({*their_tokens} - {*our_tokens})[:8]}")
    print(f"  only ours: {sorted({*our_tokens} - {*their_tokens})[:8]}")
    counts = [count_tokens(folder, corpus) for folder in (base, ours, theirs)]
    print("  held-out tokens: base {:,}, ours {:,}, theirs {:,}".format(*counts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--work", type=Path, required=True, help="a new folder; it stays")
    parser.add_argument(
        "--checkout", type=Path, required=True, help="taidopurason/tokenizer-extension"
    )
    parser.add_argument("--added", type=int, default=500)
    arguments = parser.parse_args()

    from revocab.demoworld.build import documents
    from revocab.demoworld.stories import build
    from revocab.vocabulary.building.constructions.train import train_tokenizer

    world = build(17)
    english, italian = (
        [row["text"] for row in documents(world, language, 3000, 17)] for language in ("en", "it")
    )
    arguments.work.mkdir(parents=True)
    train_tokenizer([english], "byte_level", 1000).save_pretrained(arguments.work / "base")
    without = [text.replace("'", " ").replace("’", " ") for text in italian]
    for name, texts in {"as it is": italian, "without apostrophes": without}.items():
        print(f"Italian text {name}, {arguments.added} tokens added to 1,000:")
        compare(arguments.work / name.replace(" ", "-"), texts, arguments.checkout, arguments.added)


if __name__ == "__main__":
    main()
