"""What can be wrong with a model folder: how it is planted, and what must be found and named."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from sound_models import END, LLAMA_3, SOUND, Sound, byte_level
from toy_folders import shard

from revocab.io import read_json, write_json, write_text
from revocab.models.folder import INDEX
from revocab.models.token_rows import TOKEN_ROWS

EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"
DOWN = "model.layers.1.mlp.down_proj.weight"
CONFIG, GENERATION = "config.json", "generation_config.json"
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
#: What faults are planted in: a chat model with old tokenizer files, one of pieces, a tied one.
BASES: dict[str, Sound] = {
    "chat": Sound(
        "llama", byte_level, (*LLAMA_3, END),
        {"bos_token": LLAMA_3[0], "eos_token": "<|eot_id|>", "pad_token": LLAMA_3[6]},
        stops=("<|eot_id|>", "<|end_of_text|>"), chat="llama-3", slow=True, padding=4,
    ),
    "pieces": SOUND["mistral-instruct"],
    "tied": SOUND["gemma"],
}  # fmt: skip


def token(folder: Path, text: str) -> int:
    content = read_json(folder / TOKENIZER)
    added = {token["content"]: token["id"] for token in content["added_tokens"]}
    return {**content["model"]["vocab"], **added}[text]


def settings(file: str, **values: Any) -> Callable[[Path], object]:
    """Set keys of a JSON file; ``None`` takes one out."""

    def change(folder: Path) -> None:
        content = read_json(folder / file) if (folder / file).exists() else {}
        content = {k: v for k, v in {**content, **values}.items() if v is not None}
        write_json(folder / file, content)

    return change


def weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], object]:
    def changed(folder: Path) -> None:
        file = folder / "model.safetensors"
        tensors = load_file(file)
        change(tensors)
        save_file(tensors, file, {"format": "pt"})

    return changed


def rows(name: str, where: Any, value: Any) -> Callable[[Path], object]:
    return weights(lambda tensors: tensors[name].__setitem__(where, value))


def template(text: str) -> Callable[[Path], object]:
    return lambda folder: write_text(folder / "chat_template.jinja", text)


def vocabulary(change: Callable[[dict[str, int]], object]) -> Callable[[Path], object]:
    def changed(folder: Path) -> None:
        content = read_json(folder / TOKENIZER)
        change(content["model"]["vocab"])
        write_json(folder / TOKENIZER, content)
        for file in ("vocab.json", "merges.txt", "added_tokens.json"):
            (folder / file).unlink(missing_ok=True)

    return changed


def added(text: str, number: int, special: bool = False) -> Callable[[Path], object]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)

    def changed(folder: Path) -> None:
        content = read_json(folder / TOKENIZER)
        content["added_tokens"].append({"id": number, "content": text, **flags, "special": special})
        write_json(folder / TOKENIZER, content)

    return changed


def ends_texts(folder: Path) -> None:
    """Let the post-processor put an end behind every text."""
    content = read_json(folder / TOKENIZER)
    number = token(folder, "<|eot_id|>")
    parts = [{"Sequence": {"id": "A", "type_id": 0}}]
    end = {"SpecialToken": {"id": "<|eot_id|>", "type_id": 0}}
    known = {"<|eot_id|>": {"id": "<|eot_id|>", "ids": [number], "tokens": ["<|eot_id|>"]}}
    content["post_processor"] = {"type": "TemplateProcessing", "single": [*parts, end],
                                 "pair": parts, "special_tokens": known}  # fmt: skip
    write_json(folder / TOKENIZER, content)


def without_fallback(folder: Path) -> None:
    content = read_json(folder / TOKENIZER)
    content["model"] |= {"byte_fallback": False, "unk_token": None}
    write_json(folder / TOKENIZER, content)


def sentencepiece(pieces: list[str]) -> bytes:
    entries = []
    for piece in pieces:
        text = piece.encode()
        body = bytes([0x0A, len(text)]) + text + b"\x15" + struct.pack("<f", -1.5) + b"\x18\x01"
        entries.append(bytes([0x0A, len(body)]) + body)
    return b"".join(entries) + b"\x12\x02\x18\x01"  # and a part of its trainer's settings


def with_model(change: Callable[[list[str]], object]) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        vocab = read_json(folder / TOKENIZER)["model"]["vocab"]
        pieces = sorted(vocab, key=vocab.get)
        change(pieces)
        (folder / "tokenizer.model").write_bytes(sentencepiece(pieces))

    return write


def sharded(change: Callable[[Path], object]) -> Callable[[Path], object]:
    def changed(folder: Path) -> None:
        whole = folder.with_name("whole")
        folder.rename(whole)
        shard(whole, folder)
        change(folder)

    return changed


def swapped(folder: Path) -> None:
    index = read_json(folder / INDEX)
    files = sorted({*index["weight_map"].values()})
    own = index["weight_map"][EMBEDDING]
    index["weight_map"][EMBEDDING] = files[(files.index(own) + 1) % len(files)]
    write_json(folder / INDEX, index)


def renamed(folder: Path) -> None:
    """Number the shards otherwise than the index."""
    for file in folder.glob("model-*.safetensors"):
        file.rename(folder / file.name.replace("of-00003", "of-00004"))


def adapter(folder: Path) -> None:
    for file in (CONFIG, "model.safetensors"):
        (folder / file).unlink()
    beside(folder)


def beside(folder: Path) -> None:
    write_json(folder / "adapter_config.json", {"base_model_name_or_path": "meta/base", "r": 8})
    save_file({"lora_A": torch.ones(2, 2)}, folder / "adapter_model.safetensors")


def cut_short(folder: Path) -> None:
    file = folder / "model.safetensors"
    os.truncate(file, file.stat().st_size - 100)


def merges(folder: Path) -> None:
    lines = (folder / "merges.txt").read_text().split("\n")
    lines[3], lines[4] = lines[4], lines[3]
    write_text(folder / "merges.txt", "\n".join(lines))


def decoder(folder: Path) -> None:
    tokens = {"5": {"content": "<|eot_id|>", "special": True}}
    settings(TOKENIZER_CONFIG, added_tokens_decoder=tokens)(folder)


def with_splits(*steps: dict[str, Any], **config: Any) -> Callable[[Path], object]:
    """Put steps before the splitter of ``tokenizer.json``, and keys into the other file."""

    def change(folder: Path) -> None:
        last = read_json(folder / TOKENIZER)["pre_tokenizer"]
        sequence = {"type": "Sequence", "pretokenizers": [*steps, last]}
        settings(TOKENIZER, pre_tokenizer=sequence)(folder)
        settings(TOKENIZER_CONFIG, **config)(folder)

    return change


def split(behavior: str = "Isolated", **pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": False}


def no_tokenizer(folder: Path) -> None:
    for file in (TOKENIZER, TOKENIZER_CONFIG, "vocab.json", "merges.txt", "added_tokens.json"):
        (folder / file).unlink()


class Fault(NamedTuple):
    base: str
    plant: Callable[[Path], object]
    code: str
    #: What the finding must name.
    named: tuple[str, ...]
    #: Whether ``--fix`` mends it.
    mended: bool = False


ENDS_IN_PIECES = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|im_end|>\n{% endfor %}"
MISSPELT = "<|begin_of_txt|>{% for m in messages %}{{ m.content }}<|eot_id|>{% endfor %}"
FOREIGN = MISSPELT.replace("<|begin_of_txt|>", "[BOS]")
UNOPENED = (
    "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>{{ m.content }}"
    "<|eot_id|>{% endfor %}"
)
ENDS_AS_TEXT = "{% for m in messages %}{{ m.content }}<|endoftext|>{% endfor %}"
FAULTS: dict[str, Fault] = {
    # Rows and tokens.
    "a token added beyond the rows": Fault(
        "pieces", settings(TOKENIZER_CONFIG, pad_token="[PAD]"), "token-without-row", ("'[PAD]'",),
        True),
    "a special token beyond the rows": Fault(
        "pieces", added("<image>", 340, special=True), "token-without-row", ("340 '<image>'",),
        True),
    "a text token beyond the rows": Fault(
        "pieces", added("word", 340), "token-without-row", ("340 'word'",)),
    "a tokenizer of another model": Fault(
        "pieces", vocabulary(lambda v: v.update({f"x{n}": 340 + n for n in range(9)})),
        "token-without-row", ("340 'x0'", "of 340")),
    "a token behind free ids": Fault(
        "chat", added("<|late|>", 302), "ids-moved", ("'<|late|>' 302 and 300",), True),
    "vocab_size of another model": Fault(
        "chat", settings(CONFIG, vocab_size=400), "shapes", (EMBEDDING, HEAD, "400"), True),
    "a head of fewer rows": Fault(
        "pieces", weights(lambda t: t.update({HEAD: t[HEAD][:-5].clone()})), "shapes", (HEAD,)),
    "an id without a token": Fault(
        "chat", vocabulary(lambda v: v.update(hole=303)), "ids-without-token", ("300", "302")),
    "rows of padding that count too few tokens": Fault(
        "chat", settings(CONFIG, **{TOKEN_ROWS: 290}), "padding", ("290", "300 tokens")),
    "rows of no token": Fault("chat", lambda folder: None, "spare-rows", ("4 rows", "300")),
    "a transposed embedding": Fault(
        "pieces", weights(lambda t: t.update({EMBEDDING: t[EMBEDDING].T.contiguous()})), "shapes",
        (EMBEDDING,)),
    "a transposed head": Fault(
        "chat", weights(lambda t: t.update({HEAD: t[HEAD].T.contiguous()})), "shapes", (HEAD,)),
    "an embedding that is one row": Fault(
        "pieces", weights(lambda t: t.update({EMBEDDING: t[EMBEDDING][3].clone()})), "shapes",
        (EMBEDDING,)),
    "an embedding that is a number": Fault(
        "pieces", weights(lambda t: t.update({EMBEDDING: t[EMBEDDING][0, 0].clone()})), "shapes",
        (EMBEDDING,)),
    "an embedding without rows": Fault(
        "pieces", weights(lambda t: t.update({EMBEDDING: t[EMBEDDING][:0].clone()})), "shapes",
        (EMBEDDING,)),
    "an embedding without columns": Fault(
        "pieces", weights(lambda t: t.update({EMBEDDING: t[EMBEDDING][:, :0].clone()})), "shapes",
        (EMBEDDING,)),
    # Ties.
    "a tied head that differs": Fault(
        "tied", weights(lambda t: t.update({HEAD: t[EMBEDDING] * 2})), "false-tie",
        (HEAD, EMBEDDING)),
    "an untied model without a head": Fault(
        "pieces", weights(lambda t: t.pop(HEAD)), "missing-tensors", (HEAD,)),
    "a head that is the embedding again": Fault(
        "pieces", weights(lambda t: t.update({HEAD: t[EMBEDDING].clone()})), "equal-matrices",
        (HEAD, EMBEDDING)),
    # Special ids.
    "an end beyond the rows": Fault(
        "pieces", settings(GENERATION, eos_token_id=32000), "id-out-of-range",
        ("eos_token_id", GENERATION, "32000")),
    "padding of minus one": Fault(
        "pieces", settings(CONFIG, pad_token_id=-1), "id-out-of-range", ("pad_token_id", "-1")),
    "an end that is text": Fault(
        "pieces", settings(GENERATION, eos_token_id=[2, "2"]), "id-out-of-range", ("'2'",)),
    "an end that is a word": Fault(
        "pieces", settings(GENERATION, eos_token_id=[2, 300]), "id-of-ordinary-token",
        ("eos_token_id", "300 '")),
    "a beginning that is a word": Fault(
        "pieces", settings(CONFIG, bos_token_id=301), "id-of-ordinary-token", ("bos", "301 '")),
    "another beginning than the tokenizer's": Fault(
        "pieces", settings(CONFIG, bos_token_id=2), "ids-disagree",
        ("config.json 2 '</s>'", "tokenizer_config.json 1 '<s>'")),
    "another end than the tokenizer's": Fault(
        "chat", settings(GENERATION, eos_token_id=1), "ids-disagree",
        (GENERATION, "1 '<|end_of_text|>'", "4 '<|eot_id|>'")),
    "an end in the padding": Fault(
        "chat", settings(GENERATION, eos_token_id=[4, 302]), "id-without-token", ("302",)),
    "a suppressed id beyond the rows": Fault(
        "chat", settings(GENERATION, suppress_tokens=[305]), "id-out-of-range",
        ("suppress_tokens", "305")),
    # Chat.
    "an end of answers at which nothing stops": Fault(
        "chat", template(ENDS_AS_TEXT), "end-not-stopped",
        ("7 '<|endoftext|>'", "4 '<|eot_id|>'"), True),
    "an end of answers that is no token": Fault(
        "chat", template(ENDS_IN_PIECES), "end-is-no-token", ("'<|im_end|>'",)),
    "a template with a mistake": Fault(
        "chat", template("{% for m in messages %}{{ m"), "template-fails", ("line 1",)),
    "a template that refuses a conversation": Fault(
        "chat", template("{{ raise_exception('only one turn') }}"), "template-fails",
        ("only one turn",)),
    "a template that leaves the last answer out": Fault(
        "chat", template("{{ messages[0].content }}<|eot_id|>"), "answer-left-out", ("answer",)),
    "a template whose answers do not end": Fault(
        "chat", template("{% for m in messages %}{{ m.content }}\n{% endfor %}"), "no-end-token",
        ("no special token",)),
    "a misspelt beginning in the template": Fault(
        "chat", template(MISSPELT), "misspelt-token",
        ("'<|begin_of_txt|>'", "'<|begin_of_text|>'")),
    "a beginning of another model in the template": Fault(
        "chat", template(FOREIGN), "misspelt-token", ("'[BOS]'",)),
    "a template that does not open answers": Fault(
        "chat", template(UNOPENED), "prompt-not-opened",
        ("add_generation_prompt", "<|start_header_id|>assistant")),
    "two templates": Fault(
        "chat", settings(TOKENIZER_CONFIG, chat_template=ENDS_AS_TEXT), "two-chat-templates",
        ("chat_template.jinja", TOKENIZER_CONFIG), True),
    # Rows.
    "zero rows": Fault(
        "pieces", rows(EMBEDDING, [300, 301], 0), "zero-rows", (EMBEDDING, "300 '", "301 '")),
    "a head of zeros": Fault("pieces", rows(HEAD, slice(None), 0), "zero-matrix", (HEAD,)),
    "equal rows": Fault(
        "pieces", weights(lambda t: t[HEAD].__setitem__(308, t[HEAD][309])), "equal-rows",
        (HEAD, "308 '", "309 '")),
    "rows that never moved": Fault(
        "pieces", rows(EMBEDDING, [305, 306], 1e-6), "untrained-rows", ("305 '", "306 '")),
    "a row far larger than others": Fault(
        "pieces", rows(HEAD, 320, 9.0), "loud-rows", (HEAD, "320 '")),
    "a loud row of padding": Fault("chat", rows(HEAD, 302, 9.0), "loud-rows", (HEAD, "302")),
    "a row that is not finite": Fault(
        "pieces", rows(EMBEDDING, 315, torch.nan), "not-finite", (EMBEDDING, "315 '")),
    "a value that is not finite": Fault(
        "pieces", rows(DOWN, (3, 1), torch.inf), "not-finite", (DOWN, "(3)")),
    "a value of 1e30": Fault("pieces", rows(DOWN, (3, 1), 1e30), "huge-values", (DOWN, "1e+30")),
    "a projection of zeros": Fault(
        "pieces", rows(DOWN, slice(None), 0), "zero-weights", (DOWN,)),
    "a token that no merge makes": Fault(
        "chat", vocabulary(lambda v: v.update(qzqz=300)), "unreachable-tokens",
        ("300 'qzqz'",)),
    # Text.
    "an end behind every text": Fault(
        "chat", ends_texts, "appends-tokens",
        (TOKENIZER, "<|eot_id|>")),
    "bytes without a token": Fault(
        "chat", vocabulary(lambda v: v.update(gone=v.pop("\u0113"))), "bytes-without-token",
        ("1 of 256", "0x13")),
    "no token for unknown characters": Fault(
        "pieces", without_fallback, "characters-without-token", ("unknown",)),
    # Stale files.
    "another SentencePiece model": Fault(
        "pieces", with_model(lambda p: p.reverse()), "stale-file", ("tokenizer.model",), True),
    "a SentencePiece model of fewer pieces": Fault(
        "pieces", with_model(lambda p: p.__delitem__(slice(-7, None))), "stale-file",
        ("tokenizer.model", "lacks 7"), True),
    "added_tokens.json of another tokenizer": Fault(
        "chat", lambda folder: write_json(folder / "added_tokens.json", {"<|eot_id|>": 1}),
        "stale-file", ("added_tokens.json", "'<|eot_id|>' is 1 and 4"), True),
    "vocab.json of another tokenizer": Fault(
        "chat", lambda folder: write_json(folder / "vocab.json", {"a": 0, "b": 1}), "stale-file",
        ("vocab.json", "'a' is 0"), True),
    "merges.txt of another tokenizer": Fault(
        "chat", merges, "stale-file", ("merges.txt", "number 3"), True),
    "added_tokens_decoder of another tokenizer": Fault(
        "chat", decoder, "added-tokens", (TOKENIZER_CONFIG, "'<|eot_id|>' is 5 and 4"), True),
    "special_tokens_map.json of another tokenizer": Fault(
        "chat", settings("special_tokens_map.json", eos_token="<|endoftext|>"),
        "special-tokens-map", ("eos_token", "'<|endoftext|>'", "'<|eot_id|>'")),
    # Files of weights.
    "shards under other names": Fault(
        "pieces", sharded(renamed), "unreadable", ("model-00001-of-00003.safetensors",), True),
    "an index that names another shard": Fault(
        "pieces", sharded(swapped), "unreadable", (INDEX, EMBEDDING), True),
    "a shard that is not there": Fault(
        "pieces", sharded(lambda f: (f / "model-00002-of-00003.safetensors").unlink()),
        "unreadable", ("model-00002-of-00003.safetensors",)),
    "one file and an index": Fault(
        "pieces", sharded(lambda f: shutil.copy(f.with_name("whole") / "model.safetensors", f)),
        "two-layouts", ("model.safetensors",)),
    "shards of an older version": Fault(
        "pieces", lambda f: save_file({"x": torch.ones(2)}, f / "model-00001-of-00002.safetensors"),
        "stray-weights", ("model-00001-of-00002.safetensors",), True),
    "a file that is cut short": Fault(
        "pieces", cut_short, "unreadable", ("model.safetensors",)),
    "a block that is missing": Fault(
        "pieces", weights(lambda t: t.pop(DOWN)), "missing-tensors", (DOWN,)),
    "a block too many": Fault(
        "pieces", weights(lambda t: t.update({"model.layers.9.x": t[DOWN].clone()})),
        "unknown-tensors", ("model.layers.9.x",)),
    "an adapter": Fault("pieces", adapter, "adapter", ("'meta/base'",)),
    "an adapter beside a model": Fault(
        "pieces", beside, "unreadable", ("adapter_config.json", "'meta/base'")),
    # Settings.
    "another dtype": Fault(
        "pieces", settings(CONFIG, dtype="float32"), "dtype", ("float32", "bfloat16"), True),
    "a class of another type": Fault(
        "pieces", settings(CONFIG, architectures=["LlamaForCausalLM"]), "architectures",
        ("'LlamaForCausalLM'", "'mistral'")),
    "no class": Fault(
        "pieces", settings(CONFIG, architectures=None), "architectures", ("architectures",)),
    "texts cut to a length": Fault(
        "pieces", settings(TOKENIZER, truncation={"direction": "Right", "max_length": 8,
                                                  "strategy": "LongestFirst", "stride": 0}),
        "asks-truncation", (TOKENIZER, "8"), True),
    "texts filled to a length": Fault(
        "pieces", settings(TOKENIZER, padding={"strategy": {"Fixed": 8}, "direction": "Right",
                                               "pad_to_multiple_of": None, "pad_id": 0,
                                               "pad_type_id": 0, "pad_token": "<unk>"}),
        "asks-padding", (TOKENIZER, "8"), True),
    "a class that builds its own splitter": Fault(
        "chat", with_splits(split(Regex=r"\p{N}"), tokenizer_class="GPT2Tokenizer"),
        "auto-class", ("GPT2Tokenizer", TOKENIZER)),
    "a class that builds its own normalizer": Fault(
        "tied", settings(TOKENIZER_CONFIG, tokenizer_class="GemmaTokenizer"), "auto-class",
        ("GemmaTokenizer", TOKENIZER)),
    # tokenizer.json by itself.
    "an end that only the settings have": Fault(
        "chat", settings(TOKENIZER_CONFIG, eos_token="<|done|>"), "role-not-in-file",
        ("eos_token", "'<|done|>'", TOKENIZER)),
    "a beginning that only the map has": Fault(
        "pieces", settings("special_tokens_map.json", bos_token={"content": "<bos>"}),
        "role-not-in-file", ("bos_token", "'<bos>'", "special_tokens_map.json")),
    "an expression as text": Fault(
        "chat", with_splits(split(String=r"\p{N}")), "split-without-match", ("step 1", "p{N}")),
    "an expression that nothing fits": Fault(
        "chat", with_splits(split("Removed", Regex=r"\s"), split(Regex=r"\s+\p{L}")),
        "split-without-match", ("step 2", "p{L}")),
    "a decoder that leaves spaces marked": Fault(
        "pieces", settings(TOKENIZER, decoder={"type": "Fuse"}), "spaces-not-decoded",
        ("Fuse", "▁")),
    "a byte-level decoder that is not there": Fault(
        "chat", settings(TOKENIZER, decoder=None), "spaces-not-decoded", ("none", "Ġ")),
    # Code.
    "attention from the Hub": Fault(
        "pieces", settings(CONFIG, _attn_implementation="somebody/kernel"), "fetched-kernels",
        ("_attn_implementation", "'somebody/kernel'"), True),
    "experts from the Hub, in a part": Fault(
        "pieces", settings(CONFIG, audio_config={"experts_implementation": {"": "a/b@v1:c"}}),
        "fetched-kernels", ("audio_config.experts_implementation", "a/b@v1:c"), True),
    "code of its own": Fault(
        "pieces", settings(CONFIG, auto_map={"AutoModelForCausalLM": "modeling.Own"}), "own-code",
        ("auto_map", "modeling.Own")),
    "weights under another name": Fault(
        "pieces", settings(CONFIG, transformers_weights="other.safetensors"), "two-layouts",
        ("transformers_weights", "'other.safetensors'")),
    "a model type that makes its own tokenizer": Fault(
        "chat", settings(CONFIG, model_type="qwen2"), "auto-class",
        ("Qwen2Tokenizer", TOKENIZER)),
    "an unknown architecture": Fault(
        "pieces", settings(CONFIG, model_type="mistrall"), "unreadable", ("mistrall",)),
    "a vocabulary that is nowhere": Fault(
        "pieces", weights(lambda t: t.update({"rows": t.pop(EMBEDDING)})), "rows-not-read",
        ("embedding",)),
    "no tokenizer": Fault("chat", no_tokenizer, "unreadable", ("no tokenizer",)),
    "settings that are no object": Fault(
        "pieces", lambda folder: write_text(folder / GENERATION, "[]"), "unreadable",
        (GENERATION,)),
}  # fmt: skip
