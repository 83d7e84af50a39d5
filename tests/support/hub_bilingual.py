"""The repositories of ``config/bilingual.yaml``, for the Hub's cache.

Arabic is the world's Italian in Arabic letters: two bytes each, as in real text, so that a Llama
spells it in bytes and Jais has words for it.

    python tests/support/hub_bilingual.py HF_HOME
"""

from __future__ import annotations

import shutil
from pathlib import Path

import hub_content
import hub_harness
import hub_scripts
import own_code_models
from chat_toys import messages_of

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
#: Its repository is asked for the tokenizer alone; of the other's, whose code nobody runs, for the
#: shards that hold embedding and head.
JAIS, JAIS_30B = "inceptionai/jais-13b", "inceptionai/jais-30b-v3"
PILE = "monology/pile-uncopyrighted"
#: By language: data set, field of the messages, split, and how the rows name role and content.
INSTRUCTIONS = {
    "en": ("HuggingFaceH4/ultrachat_200k", "messages", "train_sft", ("role", "content")),
    "ar": ("FreedomIntelligence/alpaca-gpt4-arabic", "conversations", "train", ("from", "value")),
}
CONVERSATIONS = 200


def write_hub(root: Path, documents: int = 400) -> Path:
    from revocab.demoworld.build import documents as make
    from revocab.demoworld.stories import build

    world = build(hub_content.SEED)
    italian, english = (
        [row["text"] for row in make(world, one, documents, hub_content.SEED)]
        for one in ("it", "en")
    )
    in_arabic = hub_scripts.written_in("arabic")
    texts = {"ar": [*map(in_arabic, italian)], "en": english}
    hub_content.culturax(root, {"ar": texts["ar"]})
    pile = root / "datasets" / PILE / "main/train"
    for number, part in enumerate((texts["en"][::2], texts["en"][1::2])):
        hub_content.jsonl_zst(pile / f"{number:02}.jsonl.zst", [{"text": one} for one in part])
    instructions(root)
    hub_harness.write_data_sets(root, hub_harness.bilingual())
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
    place = root / "models" / JAIS_30B / "main"
    own_code_models.write_model(folders["jais"], place, rows=1600)
    shutil.rmtree(root / ".tokenizers")
    return root


def instructions(root: Path) -> None:
    """Write a data set of conversations in each language, in the form that it has there."""
    in_arabic = hub_scripts.written_in("arabic")
    for language, (name, field, split, keys) in INSTRUCTIONS.items():
        rows = []
        for number in range(CONVERSATIONS):
            messages = [
                dict(zip(keys, (one["role"], one["content"]), strict=True))
                for one in messages_of(number)
            ]
            if language == "ar":
                for one in messages:
                    one[keys[1]] = in_arabic(one[keys[1]])
            rows.append({field: messages})
        hub_content.data_set(root / "datasets" / name / "main", {"default": {split: rows}})


if __name__ == "__main__":
    hub_content.fill(write_hub)
