"""The small models of docs/symptoms.md, each with the fault of a symptom, and what mends it."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from planted_faults import EMBEDDING, HEAD, rows, settings, weights
from toy_folders import initialise
from toy_models import build_model

from revocab import __main__ as entry
from revocab.demoworld.build import documents
from revocab.demoworld.stories import build
from revocab.io import read_json, write_text
from revocab.vocabulary.tokenizers.load import load_tokenizer

LANGUAGES = {"en": "english", "it": "italian"}
#: Of the tokenizers, before and after their extension.
TOKENS, NEW = 600, 200


def write_folders(folder: Path) -> None:
    world = build(17)
    for code, name in LANGUAGES.items():
        texts = [row["text"] for row in documents(world, code, 160, 17)]
        write_text(folder / f"{name}.txt", "\n\n".join(texts[:120]))
        write_text(folder / f"new-{name}.txt", "\n\n".join(texts[120:]))
        by_hand(f"prepare --corpus {code} --language {code} --files {name}.txt"
                f" --heldout-bytes 4000 --out corpora/{code}")  # fmt: skip
    by_hand("tokenizer train --corpora en=corpora/en --alphabet byte_fallback"
            f" --vocabulary-size {TOKENS} --out english")  # fmt: skip
    by_hand(f"tokenizer extend --base english --corpora it=corpora/it --add {NEW} --out italian")
    by_hand("pack_heldout --tokenizer italian --corpora it=corpora/it --sequence-length 64"
            " --out heldout")  # fmt: skip
    by_hand("pack --tokenizer italian --corpora it=corpora/it --heldout corpora/it --steps 8"
            " --batch-size 4 --sequence-length 64 --seed 1 --out packed")  # fmt: skip
    build_model(folder / "english", folder / "model")
    build_model(folder / "english", folder / "tied-before", tied=True, family="llama")
    initialise(folder / "model", folder / "started", "fvt", target_tokenizer=folder / "italian")
    tokens_alone(folder / "model", folder / "resized")
    zeros_for_new(folder / "tied-before", folder / "italian", folder / "tied")
    of_version_5(folder / "model", folder / "version-5")
    ended = shutil.copytree(folder / "model", folder / "no-end")
    for name in (EMBEDDING, HEAD):
        rows(name, 2, 0.0)(ended)
    settings("config.json", vocab_size=TOKENS)(
        shutil.copytree(folder / "started", folder / "merged")
    )


def by_hand(line: str) -> None:
    entry.main(line.split())


def tokens_alone(source: Path, out: Path) -> None:
    shutil.copytree(source, out)
    tokenizer = load_tokenizer(source)
    tokenizer.add_tokens(["gatto", "perché"])
    tokenizer.save_pretrained(out)


def zeros_for_new(source: Path, tokenizer: Path, out: Path) -> None:
    """Copy a tied model with another tokenizer, whose new tokens have rows of zeros."""
    shutil.copytree(source, out)
    shutil.copytree(tokenizer, out, dirs_exist_ok=True)

    def longer(tensors: dict[str, torch.Tensor]) -> None:
        tensors[EMBEDDING] = torch.nn.functional.pad(tensors[EMBEDDING], (0, 0, 0, NEW))

    weights(longer)(out)
    settings("config.json", vocab_size=TOKENS + NEW)(out)


def of_version_5(source: Path, out: Path) -> None:
    """Copy a model with a tokenizer as transformers 5 saves one that has a special token."""
    shutil.copytree(source, out)
    tokenizer = load_tokenizer(source)
    tokenizer.add_special_tokens({"extra_special_tokens": ["</s>"]})
    tokenizer.save_pretrained(out)
    config = read_json(out / "tokenizer_config.json")
    assert isinstance(config["extra_special_tokens"], list)
