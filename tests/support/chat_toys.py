"""A small byte-level tokenizer with the special tokens of chat, and corpora of conversations."""

from __future__ import annotations

from pathlib import Path

from revocab import io

#: Special tokens that the package's templates write.
SPECIAL = (
    "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>",
    "<|eot_id|>", "<|end_of_turn|>",
)  # fmt: skip
STARTS = ("Bar", "Cal", "Dar", "Fal", "Gal")
ENDS = ("elia", "onte", "ulla")
QUESTIONS = ("Di dove è {}?", "What does {} use?", "Copy exactly: {}", "Chi è {}?")


def write_tokenizer(folder: Path, *, adds_bos: bool = True) -> Path:
    """Write a byte-level BPE tokenizer that, asked for special tokens, puts bos before a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=[*SPECIAL],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator([text_of(n) for n in range(40)], trainer)
    if adds_bos:
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 0)]
        )
    PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>"
    ).save_pretrained(folder)
    return folder


def text_of(number: int) -> str:
    name = STARTS[number % 5] + ENDS[number % 3]
    return f"{QUESTIONS[number % 4].format(name)} {name} è di Borgo {number}."


def messages_of(number: int, turns: int = 1) -> list[dict[str, str]]:
    """Return a conversation; its answers have one to four words."""
    found = []
    for turn in range(turns):
        found += [
            {"role": "user", "content": text_of(number + 7 * turn)},
            {
                "role": "assistant",
                "content": " ".join(text_of(number + turn).split()[: 1 + number % 4]),
            },
        ]
    return found


def write_chat(folder: Path, count: int = 60, heldout: int = 6, language: str = "it") -> Path:
    """Write a prepared corpus of conversations of one to three turns."""
    rows = []
    for number in range(count):
        messages = messages_of(number, 1 + number % 3)
        text = "\n\n".join(one["content"] for one in messages)
        rows.append({"id": f"chat-{number}", "text": text, "messages": messages})
    io.write_jsonl(folder / "train.jsonl.gz", rows[heldout:])
    io.write_jsonl(folder / "heldout.jsonl.gz", rows[:heldout])
    size = sum(len(row["text"].encode()) for row in rows[heldout:])
    manifest = {"language": language, "messages_field": "messages", "train": {"bytes": size}}
    io.write_json(folder / "manifest.json", manifest)
    return folder


def chat_model(folder: Path) -> None:
    """Write a pico Mistral with a row for each token of :func:`write_tokenizer`."""
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=320, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=160,
    )  # fmt: skip
    MistralForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


def write_inputs(root: Path, **options: object) -> Path:
    """Write a pico Mistral, packed conversations and held-out ones under ``root``."""
    from revocab.training.data.heldout import pack_heldout_folder
    from revocab.training.data.packed_folder import pack_folder
    from revocab.training.data.packing import HeldoutJob, PackingJob

    chat_model(root / "model")
    tokenizer, corpora = write_tokenizer(root / "tokenizer"), {"it": write_chat(root / "it")}
    values = {"sequence_length": 144, "rows": 240, "seed": 17, "loss": "answers", **options}
    job = PackingJob(**values, shares={"it": [1.0]}, repeat_corpora=True)
    pack_folder(tokenizer, corpora, job, root / "packed", chat_template="plain")
    heldout = HeldoutJob(sequence_length=144)
    pack_heldout_folder(tokenizer, corpora, heldout, root / "heldout", "plain")
    return root
