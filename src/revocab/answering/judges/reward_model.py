"""A reward model: a sequence classifier with one output, which scores a whole conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from revocab.answering.judge import Judge, JudgeInputs, JudgeOptions, Row, Verdict
from revocab.answering.options import MESSAGES
from revocab.errors import RevocabError

if TYPE_CHECKING:
    import torch

TOO_LONG = "too long"


class RewardModelOptions(JudgeOptions):
    """Which scores are good enough."""

    kind: Literal["reward_model"]
    threshold: float = Field(description="least score of a conversation that is kept")


class RewardModel:
    """A loaded reward model with its tokenizer, whose chat template makes text of conversations."""

    def __init__(self, folder: Path, device: str, dtype: str):
        """Load it; raise :class:`RevocabError` for one that gives several scores."""
        from revocab.evaluation.inference.chat_prompts import set_template
        from revocab.models.load import load_classifier
        from revocab.tokenizers.load import load_tokenizer

        self.tokenizer = load_tokenizer(folder)
        set_template(self.tokenizer, folder, None)
        self.model: Any = load_classifier(folder, dtype=dtype, device=device)
        if self.model.config.num_labels != 1:
            raise RevocabError(
                f"{folder}: gives {self.model.config.num_labels} scores (num_labels), and a reward "
                "is one; take a model with a single output"
            )
        self.longest = int(getattr(self.model.config, "max_position_embeddings", 2**31))

    def encode(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """Return the token ids of a whole conversation."""
        text = self.tokenizer.apply_chat_template(list(messages), tokenize=False)
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def scores(self, batch: Sequence[list[int]]) -> list[float]:
        """Return a score for each conversation of a batch of equal lengths."""
        import torch

        with torch.no_grad():
            logits_B1 = self.model(input_ids=self._tensor(batch)).logits
        return logits_B1[:, 0].float().tolist()

    def _tensor(self, batch: Sequence[list[int]]) -> torch.Tensor:
        import torch

        return torch.tensor(list(batch), device=self.model.device)


def judge(
    rows: Sequence[Row], options: RewardModelOptions, inputs: JudgeInputs
) -> Iterator[Verdict]:
    """Yield a verdict per conversation; one that is too long for the model is left out.

    Conversations of one length are a batch: without padding no score depends on what else is in it.
    """
    from revocab.answering.recorded import Recorded
    from revocab.evaluation.inference.checkpoint import choose_device, choose_dtype

    assert inputs.model is not None  # needs_model
    device = choose_device(inputs.machine.device)
    model = RewardModel(inputs.model, device, choose_dtype(inputs.machine.dtype, device))
    encoded = [model.encode(row[MESSAGES]) for row in rows]
    fitting = [number for number, ids in enumerate(encoded) if len(ids) <= model.longest]
    recorded = Recorded(inputs.records, made_from(inputs.model), inputs.machine.batch_size)
    scores = recorded.results(
        [encoded[number] for number in fitting],
        lambda part: in_batches(model, part, inputs.machine.batch_size),
    )
    found = dict(zip(fitting, scores, strict=True))
    for number in range(len(rows)):
        if number not in found:
            yield Verdict(False, None, TOO_LONG)
        else:
            kept = found[number] >= options.threshold
            yield Verdict(kept, found[number], "" if kept else "low score")


def made_from(model: Path) -> dict[str, Any]:
    """Return what the scores of token ids depend on; devices and dtypes only round them."""
    from revocab.evaluation.records import model_hash, module_hash, versions

    return {
        "model": model_hash(model),
        "code": module_hash(__name__),
        "libraries": versions("torch", "transformers"),
    }


def in_batches(model: RewardModel, encoded: Sequence[list[int]], size: int) -> list[float]:
    """Return the score of each conversation, of which those of one length are batches."""
    lengths: dict[int, list[int]] = {}
    for number, ids in enumerate(encoded):
        lengths.setdefault(len(ids), []).append(number)
    found: dict[int, float] = {}
    for numbers in lengths.values():
        for start in range(0, len(numbers), size):
            part = numbers[start : start + size]
            scores = model.scores([encoded[number] for number in part])
            found |= dict(zip(part, scores, strict=True))
    return [found[number] for number in range(len(encoded))]


JUDGE = Judge(options=RewardModelOptions, judge=judge, needs_model="scores")
