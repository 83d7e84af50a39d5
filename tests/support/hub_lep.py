"""The repositories of ``config/lep.yaml`` for the Hub's cache, laid out as docs/papers.md has them.

Russian is the world's Italian in Cyrillic letters: two bytes each, as in real text.

    python tests/support/hub_lep.py HF_HOME
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import hub_content
import hub_darumeru
import hub_scripts

from revocab.training.chat.template import find_template

CONTEXT = 8192
#: Of Russian Wikipedia, the last of which is only copied from.
SHARDS = 21
#: The commit that Saiga's set d7 is of.
D7 = "af1d972da1d5496143054dd92067f99b47c1cd9a"
#: Files of dichspace/darulm: what the second part of a name says is the domain of its rows.
DARULM = (
    "libru_prose_0", "libru_fantasy_0", "libru_history_0", "libru_science_0", "libru_textbook_0",
    "rulm_buriy_0", "rulm_gazeta_0", "rulm_lenta_0", "rulm_ods-tass_0", "rulm_taiga-fontanka_0",
    "rulm_habr_0", "rulm_habr_1", "rulm_pikabu_0", "rulm_wiki_0", "wiki40_enwiki_0",
)  # fmt: skip
LLAMA_3 = ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
CHATML = ("<|im_start|>", "<|im_end|>")
#: Tokenizers that chat: the one they stand on, the tokens added, the template, the end of answers.
CHAT = {
    "openchat": ("mistral", ("<|end_of_turn|>", "<|pad_0|>"), "openchat", "<|end_of_turn|>"),
    "llama-instruct": ("llama", LLAMA_3, "llama-3", "<|eot_id|>"),
    "vikhr": ("mistral", CHATML, "chatml", "<|im_end|>"),
    "qwen-2": ("bilingual", CHATML, "chatml", "<|im_end|>"),
    "nemo": ("bilingual", (), "mistral", None),
}
JUDGE = "meta-llama/Meta-Llama-3-70B-Instruct"
ANSWERER = "meta-llama/Meta-Llama-3-8B-Instruct"
#: Models by name: family and tokenizer.
MODELS = {
    "mistralai/Mistral-7B-v0.1": ("mistral", "mistral"),
    "meta-llama/Meta-Llama-3-8B": ("llama", "llama"),
    "openchat/openchat-3.5-0106": ("mistral", "openchat"),
    ANSWERER: ("llama", "llama-instruct"),
    JUDGE: ("llama", "llama-instruct"),
    "IlyaGusev/saiga_llama3_8b": ("llama", "llama-instruct"),
    "Vikhrmodels/it-5.2-fp16-cp": ("mistral", "vikhr"),
    "Qwen/Qwen2-7B-Instruct": ("llama", "qwen-2"),
    "mistralai/Mistral-Nemo-Instruct-2407": ("mistral", "nemo"),
}


def texts_of(count: int) -> dict[str, list[str]]:
    from revocab.demoworld.build import documents
    from revocab.demoworld.stories import build

    world = build(hub_content.SEED)
    italian, english = (
        [row["text"] for row in documents(world, one, count, hub_content.SEED)]
        for one in ("it", "en")
    )
    return {"ru": [*map(hub_scripts.written_in("cyrillic"), italian)], "en": english}


def paragraph(words: list[str]) -> str:
    """Return sentences of eleven words, cut to two letters, so that five examples in bytes fit."""
    short = [word[:2] for word in words]
    return " ".join(
        " ".join(short[n : n + 11]).capitalize() + "." for n in range(0, len(short), 11)
    )


def wikipedia(main: Path, texts: dict[str, list[str]]) -> None:
    """Write both languages in shards of one article, whose paragraphs are long enough to copy."""
    names = {f"20231101.{language}": language for language in texts}
    hub_content.card(main, {one: {"train": f"{one}/train-*"} for one in names})
    for name, language in names.items():
        for shard in range(SHARDS):
            words = " ".join(texts[language][3 * shard : 3 * shard + 3]).lower().split()
            text = "\n".join(paragraph(words[n : n + 44]) for n in (0, 44, 88))
            rows = [{"id": f"{name}-{shard}", "title": "x", "text": f"{text}\nShard {shard}."}]
            hub_content.parquet(main / f"{name}/train-{shard:05d}-of-{SHARDS:05d}.parquet", rows)


def darulm(main: Path, texts: dict[str, list[str]]) -> None:
    """Write compressed JSONL beside a loading script; each file has texts of its own."""
    import pyarrow

    main.mkdir(parents=True)
    (main / "darulm.py").write_text("raise SystemExit('never run')\n", encoding="utf-8")
    for place, name in enumerate(DARULM):
        language, domain = "en" if "enwiki" in name else "ru", name.split("_")[1]
        rows = [{"text": text, "domain": domain} for text in texts[language][place :: len(DARULM)]]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
        zipped = pyarrow.compress(lines, codec="zstd", asbytes=True)
        (main / f"{name}.jsonl.zst").write_bytes(zipped)


def saiga(repository: Path, texts: list[str]) -> None:
    """Write scored conversations, some of them bad or of a low score, at d7's commit and later."""
    rows = []
    for number, text in enumerate(texts):
        words = text.split()
        messages = [
            {"role": "user", "content": " ".join(words[:3])},
            {"role": "bot", "content": " ".join(words[3:6])},
        ]
        if number % 4 == 0:
            messages.insert(0, {"role": "system", "content": words[0]})
        rows.append({
            "messages": messages, "source": "x", "opus_score": 6 + number % 5,
            "language": "Russian", "turns": 1, "is_bad_by_regex": number % 7 == 0,
            "sonnet_topic": "other", "sonnet_topic_explanation": "x",
            "sonnet_complexity": "easy", "sonnet_complexity_explanation": "x",
        })  # fmt: skip
    for commit, part in ((D7, rows[: 3 * len(rows) // 4]), ("main", rows)):
        hub_content.card(repository / commit, {"default": {"train": "train.parquet"}})
        hub_content.parquet(repository / commit / "train.parquet", part)


def chat_tokenizer(base: Path, name: str, out: Path) -> Path:
    from transformers import PreTrainedTokenizerFast

    from revocab.vocabulary.tokenizers.load import write_tokenizer

    _, tokens, template, end = CHAT[name]
    tokenizer = PreTrainedTokenizerFast.from_pretrained(base)
    tokenizer.add_special_tokens({"additional_special_tokens": list(tokens)})
    tokenizer.chat_template = find_template(template).read_text(encoding="utf-8")
    tokenizer.eos_token = end or tokenizer.eos_token
    write_tokenizer(tokenizer, out)
    return out


def weights_changed(folder: Path, change: Any) -> None:
    """Change the tensors of a model: ``change`` gets them by name, and the tokenizer."""
    from safetensors.torch import load_file, save_file
    from transformers import PreTrainedTokenizerFast

    tensors = load_file(folder / "model.safetensors")
    change(tensors, PreTrainedTokenizerFast.from_pretrained(folder))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def says_something(tensors: dict[str, Any], tokenizer: Any) -> None:
    """Keep a model from ending an answer before it begins, after the line breaks of the template.

    Its random layers add little to the row of the last token, which the end token's row opposes.
    """
    last = tokenizer.encode("\n\n", add_special_tokens=False)[-1]
    row = tensors["model.embed_tokens.weight"][last]
    tensors["lm_head.weight"][tokenizer.eos_token_id] = -row / row.norm()


def grades_five(tensors: dict[str, Any], tokenizer: Any) -> None:
    """Let a model answer everything with "5" and the end token, as no random judge would.

    All tokens have one row, "5" its negative, and no layer adds anything to it.
    """
    five = tokenizer.convert_tokens_to_ids("5")
    for name, weight in tensors.items():
        if name.endswith(("o_proj.weight", "down_proj.weight", "lm_head.weight")):
            weight.zero_()
    tensors["model.embed_tokens.weight"].fill_(1.0)
    tensors["model.embed_tokens.weight"][five] = -1.0
    tensors["lm_head.weight"][five] = 1.0
    tensors["lm_head.weight"][tokenizer.eos_token_id] = -1.0


def models(root: Path, texts: dict[str, list[str]]) -> None:
    """Write the models; base and instruct models have one width, as their rows are compared."""
    both = texts["ru"] + texts["en"]
    wanted = {
        "mistral": (texts["en"], "byte_fallback", 512),
        "llama": (texts["en"], "byte_level", 640),
        "bilingual": (both, "byte_level", 576),
    }
    made = root / ".tokenizers"
    folders = hub_content.tokenizers(made, wanted)
    for name, (base, *_) in CHAT.items():
        folders[name] = chat_tokenizer(folders[base], name, made / name)
    for number, (name, (family, tokenizer)) in enumerate(MODELS.items()):
        out, seed = root / "models" / name / "main", hub_content.SEED + number
        shape = {"family": family, "width": 8, "layers": 2, "context": CONTEXT}
        hub_content.model(out, folders[tokenizer], seed, **shape)
    weights_changed(root / "models" / ANSWERER / "main", says_something)
    weights_changed(root / "models" / JUDGE / "main", grades_five)
    shutil.rmtree(made)


def write_texts(root: Path, count: int = 300) -> Path:
    texts = texts_of(count)
    sets = root / "datasets"
    wikipedia(sets / "wikimedia/wikipedia/main", texts)
    darulm(sets / "dichspace/darulm/main", texts)
    saiga(sets / "IlyaGusev/saiga_scored", texts["ru"][:80])
    return root


def write_hub(root: Path) -> Path:
    texts = texts_of(100)
    write_texts(root)
    hub_darumeru.write_data_sets(root / "datasets", texts)
    models(root, texts)
    return root


if __name__ == "__main__":
    hub_content.fill(write_hub)
