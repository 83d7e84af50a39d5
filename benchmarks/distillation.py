"""New rows by Token Distillation, ours beside the method's release, from the same snippets.

The release (a checkout of konstantinjdobler/token-distillation, arXiv 2505.20133) runs its own
training loop; ours the loss of a stage with ``distil``, under the release's optimizer. All snippets
are one batch, so that the order in which they are read does not count.

    python benchmarks/distillation.py --work FOLDER --checkout FOLDER [--python VENV/bin/python]

The release needs the package ahocorasick-rs as well.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.measure import measure

RATE = 1e-2
MATRICES = {"input": "model.embed_tokens.weight", "head": "lm_head.weight"}
#: Runs in the other process: checkout, model, snippets, updates, file to write.
THEIRS = """
import json, sys
checkout, model, snippets, updates, out = sys.argv[1:]
sys.path.insert(0, checkout + "/token_distillation")
import torch
from token_distillation.train_loop import train_embeddings
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
made = json.load(open(snippets))
model = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
tokenizer = PreTrainedTokenizerFast.from_pretrained(sys.argv[2])
tokenizer.pad_token = tokenizer.eos_token
phrases = {torch.tensor(ids): new for ids, new in made["phrases"]}
texts = [torch.tensor(ids) for ids in made["source_ids"]]
train_embeddings(model, [texts], phrases, tokenizer, epochs=int(updates), batch_size=len(texts),
                 learning_rate=RATE, original_token_ids=made["old"], mixed_precision=False,
                 learn_output_with_ce=not model.config.tie_word_embeddings)
model.save_pretrained(out)
""".replace("RATE", str(RATE))


def make_models(work: Path, *, tied: bool) -> None:
    """Write a random model with a tokenizer of English, and the same with Italian tokens added."""
    from revocab.demoworld.build import documents
    from revocab.demoworld.stories import build
    from revocab.models.parameters import Architecture, build_stand_in
    from revocab.tokenizer_building.trainers import train_tokenizer

    world = build(17)
    english, italian = (
        [row["text"] for row in documents(world, language, 1000, 17)] for language in ("en", "it")
    )
    train_tokenizer([english], "byte_level", 1000).save_pretrained(work / "tokenizer")
    shape = Architecture(
        family="llama",
        hidden_size=128,
        intermediate_size=384,
        layers=4,
        heads=4,
        kv_heads=4,
        tied=tied,
    )
    build_stand_in(work / "tokenizer", shape, 128, 17, work / "source")
    (work / "it.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in italian))
    for line in (
        "prepare --corpus it --language it --files it.jsonl --heldout-bytes 40000 --out corpus",
        "tokenizer --construction extend --base tokenizer --corpora it=corpus --option add=200"
        " --out extended",
        "init --method fvt --source source --target-tokenizer extended --out start",
    ):
        words = [sys.executable, "-m", "revocab", *line.split()]
        subprocess.run(words, cwd=work, check=True, capture_output=True)


def merge(ids: Sequence[int], phrases: Mapping[tuple[int, ...], int]) -> list[int]:
    """Return ids in which the longest phrase at each place is one token, as the release reads."""
    merged, place, longest = [], 0, max(map(len, phrases))
    while place < len(ids):
        pieces = [tuple(ids[place : place + length]) for length in range(longest, 1, -1)]
        known = next((piece for piece in pieces if piece in phrases), None)
        merged.append(phrases[known] if known else ids[place])
        place += len(known) if known else 1
    return merged


def make_snippets(work: Path, number: int) -> dict[str, Any]:
    """Return up to ``number`` snippets that both read in the same tokens.

    ``texts``; ``source_ids``, what the release is given; ``phrases``, the pieces of each new token
    with its id; ``old``, the ids of the other tokens.
    """
    import numpy as np

    from revocab.corpora.read import texts
    from revocab.initialise.rows.source_weights import read_new_rows
    from revocab.training.data.tokenizer_pair import aligned_places

    pair = pair_of(work)
    windows = []
    for text in texts(work / "corpus", "train"):
        words = text.split()
        windows += [" ".join(words[n : n + 20]) for n in range(0, len(words) - 20, 20)]
    ours = pair.student.encode(windows, start=True)
    theirs = pair.source.encode(windows, start=True)
    new_V = read_new_rows(work / "start", pair.student.backend.get_vocab_size()).numpy()
    phrases: dict[tuple[int, ...], int] = {}
    for (ids, ends), (pieces, others) in zip(ours, theirs, strict=True):
        places = aligned_places(ends, others)
        for n in np.flatnonzero(new_V[ids]).tolist():
            if n and places[n] > places[n - 1] >= 0:
                phrases.setdefault(tuple(pieces[places[n - 1] + 1 : places[n] + 1]), ids[n])
    kept = [
        (text, pieces)
        for text, (ids, _), (pieces, _) in zip(windows, ours, theirs, strict=True)
        if new_V[ids].any() and merge(pieces, phrases) == ids
    ][:number]
    print(f"  {len(windows)} snippets, of which {len(kept)} are read; {len(phrases)} new tokens")
    return {
        "texts": [text for text, _ in kept],
        "source_ids": [pieces for _, pieces in kept],
        "phrases": [[pieces, token] for pieces, token in phrases.items()],
        "old": np.flatnonzero(~new_V).tolist(),
    }


def pair_of(work: Path) -> Any:
    from revocab.training.data.tokenizer_pair import Pair, SpanTokenizer

    return Pair(SpanTokenizer(work / "start", 128), SpanTokenizer(work / "source", 128))


def train_ours(work: Path, snippets: dict[str, Any], updates: int, out: Path) -> None:
    """Update new rows by the loss of a stage with ``distil``, and write the model."""
    import numpy as np
    import torch
    from transformers import AutoModelForCausalLM

    from revocab.training.data.snippets import StageText, Windows, padded
    from revocab.training.loop.distillation import hidden_states_lesson
    from revocab.training.stage import Distil

    pair, texts = pair_of(work), snippets["texts"]
    load = AutoModelForCausalLM.from_pretrained
    model = load(work / "start", dtype=torch.float32)
    source = load(work / "source", dtype=torch.float32).eval()
    old, size = snippets["old"], pair.student.backend.get_vocab_size()
    new_V = np.ones(size, bool)
    new_V[old] = False
    rows = padded([ids for ids, _ in pair.student.encode(texts, start=False)], 0)
    numbers = np.arange(len(rows))
    windows = Windows(numbers, 0 * numbers, 0 * numbers, rows.shape[1], 1)
    step = StageText(windows, pair, new_V).step(rows, 0, len(rows))
    batch = {name: torch.from_numpy(array) for name, array in step.items()}
    matrices = [*{id(own): own for own in matrices_of(model)}.values()]
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for matrix in matrices:
        matrix.requires_grad_()
    optimizer = torch.optim.AdamW(matrices, lr=RATE, weight_decay=0.0)
    for _ in range(updates):
        lesson = hidden_states_lesson(source, batch, Distil())
        loss = lesson(model, batch["input_ids"], batch["predicted"])
        loss.backward()
        for matrix in matrices:
            matrix.grad[old] = 0
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(out)


def matrices_of(model: Any) -> list[Any]:
    return [model.get_input_embeddings().weight, model.get_output_embeddings().weight]


def compare(work: Path, python: str, checkout: Path, updates: int) -> None:
    """Print time and memory of both, and how far the new rows are apart."""
    import torch
    from safetensors.torch import load_file

    snippets = make_snippets(work, 64)
    (work / "snippets.json").write_text(json.dumps(snippets))
    ours, theirs = work / "ours", work / "theirs"
    both = [str(work / "snippets.json"), str(updates)]
    commands = {
        "ours": [sys.executable, __file__, "--work", str(work), "--train", *both, str(ours)],
        "theirs": [python, "-c", THEIRS, str(checkout), str(work / "start"), *both, str(theirs)],
    }
    for name, command in commands.items():
        seconds, processor, peak = measure(command, work / f"{name}.log")
        print(f"  {name}: {seconds:.1f} s, {processor:.1f} s of processor time, {peak:.2f} GiB")
    start, mine, other = (
        load_file(folder / "model.safetensors") for folder in (work / "start", ours, theirs)
    )
    new = sorted({token for _, token in snippets["phrases"]})
    for name, key in MATRICES.items():
        if key not in start:
            continue
        same = all(torch.equal(rows[key][snippets["old"]], start[key][snippets["old"]])
                   for rows in (mine, other))  # fmt: skip
        moved = (other[key][new] - start[key][new]).norm()
        apart = (mine[key][new] - other[key][new]).norm() / moved
        others = int(((mine[key] - other[key]).abs() > RATE / 100).sum())
        print(f"  {name}: old rows {'the same bits' if same else 'CHANGED'}; new rows apart by "
              f"{apart:.1e} of how far they moved; {others} of {mine[key][new].numel():,} numbers "
              "by more than a hundredth of the rate")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--work", type=Path, required=True, help="a new folder; it stays")
    parser.add_argument("--checkout", type=Path, help="konstantinjdobler/token-distillation")
    parser.add_argument("--python", default=sys.executable, help="Python that runs the release")
    parser.add_argument("--updates", type=int, default=50)
    parser.add_argument("--train", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        snippets, updates, out = arguments.train
        read = json.loads(Path(snippets).read_text())
        train_ours(arguments.work, read, int(updates), Path(out))
        return
    for name, tied in {"tied": True, "untied": False}.items():
        print(f"{name}, {arguments.updates} updates:")
        work = (arguments.work / name).absolute()
        work.mkdir(parents=True)
        make_models(work, tied=tied)
        compare(work, arguments.python, arguments.checkout, arguments.updates)


if __name__ == "__main__":
    main()
