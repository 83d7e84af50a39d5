"""The repositories and the user's files of ``config/bilingual.yaml``, for a local Hub.

Arabic is the world's Italian in Arabic letters: two bytes each, as in real text, so that a Llama
spells it in bytes and Jais has words for it.

    python tests/support/hub_bilingual.py ROOT GIVEN
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import hub_content
import hub_harness
from chat_toys import messages_of

from revocab.io import write_jsonl

LATIN = "abcdefghijklmnopqrstuvwxyz"
IN_ARABIC = str.maketrans(LATIN + LATIN.upper(), "ابجدهوزحطيكلمنسعفصقرشتثخذض" * 2)
#: Models by name: tokenizer, and how wide; eight blocks, so that an eighth can be added.
LLAMAS = {
    "meta-llama/Llama-2-7b-hf": ("llama-2", 8),
    "meta-llama/Llama-2-13b-hf": ("llama-2", 12),
    "meta-llama/Llama-2-70b-hf": ("llama-2", 16),
    "inceptionai/jais-adapted-7b": ("jais-adapted", 8),
    "inceptionai/jais-adapted-13b": ("jais-adapted", 12),
    "inceptionai/jais-adapted-70b": ("jais-adapted", 16),
}
BLOCKS = 8
#: Its repository is asked for the tokenizer alone.
JAIS = "inceptionai/jais-13b"
GATED = ("datasets/uonlp/CulturaX", *(f"models/{one}" for one in LLAMAS))
CONVERSATIONS = 200


def in_arabic(text: str) -> str:
    """Return a text with its letters exchanged for Arabic ones."""
    return text.translate(IN_ARABIC)


def write_hub(root: Path, documents: int = 400) -> Path:
    """Fill ``root`` with what the experiment asks the Hub for; return it."""
    from revocab.demoworld.build import documents as make
    from revocab.demoworld.stories import build

    world = build(hub_content.SEED)
    italian, english = (
        [row["text"] for row in make(world, one, documents, hub_content.SEED)]
        for one in ("it", "en")
    )
    texts = {"ar": [in_arabic(text) for text in italian], "en": english}
    hub_content.culturax(root, texts)
    hub_harness.write_data_sets(root)
    both = texts["ar"] + texts["en"]
    wanted = {
        "llama-2": (texts["en"], "byte_fallback", 512),
        "jais": (both, "byte_level", 1600),
        "jais-adapted": (both, "byte_fallback", 640),
    }
    folders = hub_content.tokenizers(root / ".tokenizers", wanted)
    for number, (name, (tokenizer, width)) in enumerate(LLAMAS.items()):
        shape = {"family": "llama", "width": width, "layers": BLOCKS, "sharded": number == 0}
        seed = hub_content.SEED + number
        hub_content.model(root / "models" / name / "main", folders[tokenizer], seed, **shape)
    shutil.copytree(folders["jais"], root / "models" / JAIS / "main")
    shutil.rmtree(root / ".tokenizers")
    hub_content.gate(root, GATED)
    return root


def write_given(folder: Path, root: Path) -> Path:
    """Write what a user brings along: Jais-30B as converted, and conversations; return the folder.

    ``root`` is what :func:`write_hub` filled.
    """
    tokenizer = root / "models" / JAIS / "main"
    hub_content.model(folder / "jais-30b", tokenizer, hub_content.SEED, family="llama", width=16)
    for language in ("en", "ar"):
        rows = [{"messages": messages_of(number)} for number in range(CONVERSATIONS)]
        for message in (one for row in rows for one in row["messages"] if language == "ar"):
            message["content"] = in_arabic(message["content"])
        write_jsonl(folder / f"instructions-{language}.jsonl", rows)
    return folder


def main() -> None:
    """Fill the two folders that are named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("root", type=Path, help="for hub_server.py")
    parser.add_argument("given", type=Path, help="the data_root of the experiment")
    options = parser.parse_args()
    write_given(options.given, write_hub(options.root))


if __name__ == "__main__":
    main()
