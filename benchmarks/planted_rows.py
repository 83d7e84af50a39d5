"""Rows planted in a helper: which methods pass them on, and what would notice them.

A helper that somebody else made may hold a row that never wins in the helper, and that a method
turns into one that wins nearly everywhere in the source (arXiv 2601.00065). Such rows are looked
for here, for every method that reads a helper, by an attacker who has both models, and measured on
text that the attacker has not seen: docs/results.md.

    python benchmarks/planted_rows.py --source SOURCE --helper HELPER --attack-text TRAIN.jsonl.gz \
        --text HELDOUT.jsonl.gz --methods sava clp --hide distance --train 16
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

PLAIN = ("projection", "clp", "omp", "wechsel", "focus", "similarity")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "sava": ("sava", {"solver": "lstsq"}),
    "procrustes": ("sava", {"solver": "procrustes"}),
    "ofa": ("ofa", {"rank": 64}),
    "clp sparsemax": ("clp", {"weights": "sparsemax"}),
    **{name: (name, {}) for name in PLAIN},
}
#: States of each kind, tokens of a text at once; prompts, tokens of each, and after each.
STATES, WINDOW, PROMPTS, WRITTEN = 1024, 128, 16, 32
#: The planted row stays so far below the helper's best token, in logits.
INERT = 2.0


@dataclass(frozen=True)
class Model:
    """A head, and states before it: on the attacker's text, on other text, on random tokens."""

    head_VD: Tensor
    attack_ND: Tensor
    text_ND: Tensor
    random_ND: Tensor


def windows(tokenizer: Any, text: str) -> Tensor:
    ids = torch.tensor(tokenizer(text)["input_ids"][:STATES])
    return ids[: len(ids) // WINDOW * WINDOW].view(-1, WINDOW)


def read_model(folder: Path, attack: str, text: str) -> Model:
    model, tokenizer = load(folder)
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(len(tokenizer), (8 * STATES // WINDOW, WINDOW), generator=generator)
    with torch.no_grad():
        states = [
            model.model(rows).last_hidden_state.flatten(0, 1)
            for rows in (windows(tokenizer, attack), windows(tokenizer, text), drawn)
        ]
    return Model(model.get_output_embeddings().weight.detach(), *states)


def load(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoTokenizer

    from revocab.models.load import load_causal_lm

    return load_causal_lm(folder, dtype=torch.float32), AutoTokenizer.from_pretrained(folder)


def margins(rows_PD: Tensor, states_ND: Tensor, head_VD: Tensor) -> Tensor:
    """Return by how much each row's logit is above the best of a head, at each state."""
    return rows_PD @ states_ND.T - (states_ND @ head_VD.T).max(dim=1).values


def wins(rows_PD: Tensor, states_ND: Tensor, head_VD: Tensor) -> Tensor:
    """Return at which share of the states each row would be the greedy choice."""
    return (margins(rows_PD, states_ND, head_VD) > 0).float().mean(dim=1)


@dataclass(frozen=True)
class Case:
    """A method between two models."""

    source: Model
    helper: Model
    inputs: Any
    method: Any
    options: Any

    @property
    def guide_VX(self) -> Tensor:
        """Return the helper's matrix that makes the head: for some methods, its embedding."""
        return self.inputs.guide_VX

    @property
    def copied_KD(self) -> Tensor:
        return self.inputs.source_VD[self.inputs.overlap_source_N]

    def rows(self, helper_PX: Tensor) -> Tensor:
        """Return what the method makes of helper rows, as many as there are, as of new tokens."""
        from revocab.initialise.target_matrix import new_rows

        first, auxiliary = self.inputs.target_rows, self.inputs.auxiliary
        guide_VX = torch.cat([self.guide_VX, helper_PX])
        more = replace(
            self.inputs,
            helper_VD=guide_VX,
            auxiliary=auxiliary and replace(auxiliary, target_VA=guide_VX),
            helper_known_V=None,
            target_rows=first + len(helper_PX),
            missing_N=torch.arange(first, first + len(helper_PX)),
            notes={},
            shared={},
        )
        with torch.no_grad():
            return new_rows(more, self.method, self.options)

    def helper_margins(self, rows_PX: Tensor, token: int, states_NX: Tensor) -> Tensor:
        """Return the margins of rows in the helper; an embedding's row does nothing in its head."""
        if self.inputs.auxiliary is not None:
            return torch.full((len(rows_PX), 1), -INERT)
        others_VX = torch.cat([self.guide_VX[:token], self.guide_VX[token + 1 :]])
        return margins(rows_PX, states_NX, others_VX)


def plant(
    case: Case, token: int, steps: int, hide: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """Return a helper row that is inert there and that the method turns into one that wins.

    The attacker climbs; slopes come from a step in each direction, so that any method can be
    attacked. Its norm is the helper's mean. ``hide``, what a detector sees, is kept at 0.
    """
    norm = case.guide_VX.norm(dim=1).mean()

    def goal(rows_PX: Tensor) -> Tensor:
        won = margins(case.rows(rows_PX), case.source.attack_ND, case.copied_KD)
        lost = case.helper_margins(rows_PX, token, case.helper.attack_ND)
        value = won.clamp(max=1.0).mean(dim=1) - 10 * (lost + INERT).clamp(min=0).mean(dim=1)
        return value if hide is None else value - 100 * hide(rows_PX)

    row = case.guide_VX[token] / case.guide_VX[token].norm() * norm
    directions_XX = torch.eye(len(row)) * norm * 0.02
    best, best_value = row, float(goal(row[None]))
    for step in range(steps):
        values = goal(torch.cat([row + directions_XX, row - directions_XX]))
        slope = values[: len(row)] - values[len(row) :]
        sizes = torch.tensor([[0.4], [0.2], [0.1], [0.03]]) * norm * 0.98**step
        tries_PX = row + torch.nn.functional.normalize(slope, dim=0) * sizes
        tries_PX = torch.nn.functional.normalize(tries_PX, dim=1) * norm
        values = goal(tries_PX)
        row = tries_PX[values.argmax()]
        if float(values.max()) > best_value:
            best, best_value = row, float(values.max())
    return best


def distances(rows_ND: Tensor, source_VD: Tensor) -> Tensor:
    """Return each row's Mahalanobis distance from the source's rows, over the largest of these."""
    inverse_DD, mean_D = torch.linalg.pinv(torch.cov(source_VD.T)), source_VD.mean(dim=0)
    all_ND = torch.cat([rows_ND, source_VD]) - mean_D
    measured = ((all_ND @ inverse_DD) * all_ND).sum(dim=1).clamp(min=0).sqrt()
    return measured[: len(rows_ND)] / measured[len(rows_ND) :].max()


def hidden(case: Case, detector: str, known: int = STATES // 2) -> Callable[[Tensor], Tensor]:
    """Return what an attacker keeps at 0 who knows a detector, and so many states of its kind."""
    drawn_ND = case.source.random_ND
    known_ND = torch.cat([drawn_ND[: STATES // 2], drawn_ND[STATES:]])[:known]

    def seen(rows_PX: Tensor) -> Tensor:
        rows_PD = case.rows(rows_PX)
        if detector == "distance":
            return (distances(rows_PD, case.inputs.source_VD) - 0.98).clamp(min=0)
        return (margins(rows_PD, known_ND, case.copied_KD) + 0.5).clamp(min=0).mean(dim=1)

    return seen


def measure(case: Case, token: int, row: Tensor) -> dict[str, float]:
    """Return what a planted row does, and what detectors see; ranks are among sound new rows."""
    from revocab.initialise.methods.omp import orthogonal_pursuit

    sound_NX = case.guide_VX[case.inputs.missing_N]
    sound_NX = sound_NX[sound_NX.any(dim=1)]
    shared_KX = case.guide_VX[case.inputs.overlap_target_N]
    planted, sound = case.rows(row[None]), case.rows(sound_NX)
    text, copied, source_VD = case.source.text_ND, case.copied_KD, case.inputs.source_VD
    drawn_ND = case.source.random_ND[STATES // 2 : STATES]
    chances = torch.sigmoid(planted @ text.T - (text @ copied.T).logsumexp(dim=1))

    unit = torch.nn.functional.normalize
    donor_side = {
        "far from anchors": lambda rows: -(unit(rows) @ unit(shared_KX).T).max(dim=1).values,
        "residual of 8 anchors": lambda rows: (
            orthogonal_pursuit(rows, shared_KX, 8).residual_N / rows.norm(dim=1)
        ),
    }
    measured = {
        "wins in helper": (case.helper_margins(row[None], token, case.helper.text_ND) > 0).float(),
        "wins in source": wins(planted, text, copied),
        "probability in source": chances,
        "most wins of a sound row": wins(sound, text, copied).max(),
        "distance": distances(planted, source_VD),
        "sound rows beyond 1": (distances(sound, source_VD) > 1).float(),
        "wins at random tokens": wins(planted, drawn_ND, copied),
        "sound rows that win at 1 % there": (wins(sound, drawn_ND, copied) > 0.01).float(),
        "rank: norm in source": (sound.norm(dim=1) < planted.norm(dim=1)).float(),
    }
    for name, statistic in donor_side.items():
        measured[f"rank: {name}"] = (statistic(sound_NX) < statistic(row[None])).float()
    return {name: round(float(value.mean()), 4) for name, value in measured.items()}


def adapted(files: Any, job: Any, row: Tensor, token: int, out: Path) -> None:
    """Plant the row in a copy of the helper's head, and initialise the source with that."""
    from safetensors.torch import load_file, save_file

    from revocab.initialise.adapted_model import initialise_model

    helper = shutil.copytree(files.helper, out / "helper")
    tensors = load_file(helper / "model.safetensors")
    tensors["lm_head.weight"][token] = row
    save_file(tensors, helper / "model.safetensors", {"format": "pt"})
    initialise_model(files.model_copy(update={"helper": helper}), job, out / "adapted")


def emitted(model: Any, rows: Tensor, token: int) -> float:
    """Return the token's share of what a model writes, greedily and without ending."""
    prompts = rows.flatten()[: PROMPTS * PROMPTS].view(PROMPTS, PROMPTS)
    length = {"max_new_tokens": WRITTEN, "min_new_tokens": WRITTEN}
    written = model.generate(prompts, do_sample=False, pad_token_id=0, **length)
    return float((written[:, PROMPTS:] == token).float().mean())


def trained(folder: Path, texts: tuple[str, str], token: int, steps: int) -> Iterator[tuple]:
    """Yield the step and the token's share of what is written, at 0, 1, 2, 4, … of a training."""
    model, tokenizer = load(folder)
    rows, prompts = windows(tokenizer, texts[0]), windows(tokenizer, texts[1])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(steps + 1):
        if step & (step - 1) == 0:
            yield step, emitted(model, prompts, token)
        batch = rows[torch.arange(4 * step, 4 * step + 4) % len(rows)]
        model(batch, labels=batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def read_text(file: Path) -> str:
    lines = gzip.decompress(file.read_bytes()).splitlines()
    return "\n".join(json.loads(line)["text"] for line in lines)[: 10 * STATES]


def main() -> None:
    from revocab.closed import checked
    from revocab.initialise.options import InitInputs, InitJob, find_method
    from revocab.initialise.reading.material import Material

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for flag in ("--source", "--helper", "--attack-text", "--text"):
        parser.add_argument(flag, type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--hide", choices=["distance", "wins"], help="detector that is known")
    parser.add_argument("--known", type=int, default=STATES // 2, help="its states that are known")
    parser.add_argument("--train", type=int, help="initialise, and train so many steps")
    options = parser.parse_args()
    torch.set_num_threads(1)
    texts = read_text(options.attack_text), read_text(options.text)
    models = read_model(options.source, *texts), read_model(options.helper, *texts)
    for name in options.methods:
        method, given = METHODS[name]
        job = checked(InitJob, {"method": method, **given})
        helper = options.helper
        files = InitInputs(source=options.source, target_tokenizer=helper, helper=helper)
        material = Material.open(files, job, "cpu", print)
        inputs = material.method_inputs("output", models[0].head_VD)
        case = Case(*models, inputs, find_method(method), job)
        for seed in options.seeds:
            generator = torch.Generator().manual_seed(seed)
            place = torch.randint(len(inputs.missing_N), (), generator=generator)
            token = int(inputs.missing_N[place])
            hide = hidden(case, options.hide, options.known) if options.hide else None
            row = plant(case, token, options.steps, hide)
            print(json.dumps({"method": name, "seed": seed, **measure(case, token, row)}))
            if options.train is not None:
                with tempfile.TemporaryDirectory() as folder:
                    adapted(files, job, row, token, Path(folder))
                    steps = dict(trained(Path(folder) / "adapted", texts, token, options.train))
                    print(json.dumps({"method": name, "seed": seed, "emitted after steps": steps}))


if __name__ == "__main__":
    main()
