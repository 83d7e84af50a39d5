"""What a draft model saves: greedy text written with it and without it, and passes of the target.

With a draft, a pass of the target reads the tokens that the draft proposed, keeps those that it
would have chosen itself, and adds one of its own. So the text stays the same, and the tokens of a
pass say what the draft is worth, on any machine. Leviathan et al. 2023 (arXiv 2211.17192), greedy.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from revocab.heavy_types import PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class Written:
    """Greedy text of one model: new tokens of each prompt, and what they took."""

    tokens: list[list[int]]
    characters: int
    #: Forward passes of the target, and the tokens that a draft proposed for them.
    passes: int
    proposed: int
    seconds: float

    @property
    def tokens_per_pass(self) -> float:
        return sum(map(len, self.tokens)) / self.passes

    @property
    def accepted(self) -> int:
        """Return how many tokens were the draft's: each pass adds one of the target's own."""
        return sum(map(len, self.tokens)) - self.passes

    @property
    def characters_per_second(self) -> float:
        return self.characters / self.seconds

    def equal(self, other: Written) -> int:
        return sum(own == theirs for own, theirs in zip(self.tokens, other.tokens, strict=True))


@contextmanager
def counted(model: PreTrainedModel, prompt: int) -> Iterator[list[int]]:
    """Yield how many tokens each pass of a model reads, of the ``prompt`` first ones the last."""
    lengths: list[int] = []

    def note(module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        read = kwargs["input_ids"].shape[1]
        lengths.append(read if lengths else read - prompt + 1)

    hook: Any = model.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield lengths
    finally:
        hook.remove()


def write(
    target: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    prompts: Sequence[list[int]],
    new_tokens: int,
    draft: PreTrainedModel | None = None,
    block: int = 4,
    draft_tokenizer: PreTrainedTokenizerFast | None = None,
) -> Written:
    """Continue each prompt by exactly ``new_tokens``, the end token barred, greedily.

    A draft proposes ``block`` tokens a pass. One of another vocabulary needs its own tokenizer:
    its text is cut again into the target's tokens.
    """
    import torch
    from transformers import GenerationConfig

    settings = GenerationConfig(
        do_sample=False,
        max_new_tokens=new_tokens,
        min_new_tokens=new_tokens,
        eos_token_id=target.config.get_text_config().eos_token_id,
        pad_token_id=0,
    )
    more: dict[str, Any] = {}
    if draft is not None:
        constant = {"num_assistant_tokens": block, "num_assistant_tokens_schedule": "constant"}
        draft.generation_config.update(**constant, assistant_confidence_threshold=0.0)
        more["assistant_model"] = draft
        if draft_tokenizer is not None:
            more |= {"tokenizer": tokenizer, "assistant_tokenizer": draft_tokenizer}
    tokens, passes, proposed, seconds = [], 0, 0, 0.0
    for prompt in prompts:
        ids_1L = torch.tensor([prompt], device=target.device)
        mask_1L = torch.ones_like(ids_1L)
        with torch.no_grad(), counted(target, len(prompt)) as lengths:
            start = time.perf_counter()
            written: Any = target.generate(  # type: ignore[operator]  # typed as a mixin's
                ids_1L, attention_mask=mask_1L, generation_config=settings, **more
            )
            seconds += time.perf_counter() - start
        tokens.append(written[0, len(prompt) :].tolist())
        passes += len(lengths)
        proposed += sum(lengths) - len(lengths)  # each begins with the newest token of the text
    characters = sum(map(len, tokenizer.batch_decode(tokens)))
    return Written(tokens, characters, passes, proposed, seconds)
