"""transformers: ``model.generate`` on batches; choices that share what they have in common."""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from revocab.device import Checkpoint
from revocab.errors import RevocabError
from revocab.evaluation.inference.decoding import (
    Output,
    Refusing,
    TextGenerator,
    beginning,
    cause,
    end_tokens,
    finished,
    refuse_sums,
)
from revocab.evaluation.inference.engine import ChoiceModel, Engine
from revocab.models.load import load_causal_lm
from revocab.models.shape import context_length
from revocab.vocabulary.tokenizers.encoding import load_prompt_tokenizer

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


class TransformersGenerator(TextGenerator):
    """``model.generate`` on left-padded batches of prompts of like length."""

    def __init__(self, checkpoint: Checkpoint, longest: int):
        """Load a checkpoint; memory is taken as needed, whatever is ``longest``."""
        self.batch_size = checkpoint.batch_size
        self.tokenizer = load_prompt_tokenizer(checkpoint.folder)
        self.model: Any = load_weights(checkpoint)
        self.context_length = context_length(self.model.config)
        self.eos = end_tokens(self.model.generation_config, self.tokenizer)

    def generate(
        self, prompts: Sequence[list[int]], max_new_tokens: int, stop: str | None
    ) -> list[Output]:
        # Longest prompts first, so that memory peaks at once.
        order = sorted(range(len(prompts)), key=lambda i: -len(prompts[i]))
        # What is drawn for a prompt is its own matter, so that no other prompt changes it.
        size = 1 if self.decoding.draws else self.batch_size
        outputs: dict[int, Output] = {}
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            batch = self._generate_batch([prompts[i] for i in chosen], max_new_tokens, stop)
            outputs |= zip(chosen, batch, strict=True)
        return [outputs[i] for i in range(len(prompts))]

    def log_probabilities(
        self, context: list[int], continuations: Sequence[list[int]]
    ) -> list[float]:
        import torch

        with torch.no_grad():
            tokens_1L = torch.tensor([context], device=self.model.device)
            read = self.model(input_ids=tokens_1L, use_cache=True, logits_to_keep=1)
            sums = [
                value
                for start in range(0, len(continuations), self.batch_size)
                for value in self._after(read, continuations[start : start + self.batch_size])
            ]
        texts = [[*context, *tokens] for tokens in continuations]
        refuse_sums(sums, lambda i: beginning(self.tokenizer, texts[i]), self.model.dtype)
        return sums

    def _after(self, read: Any, continuations: Sequence[list[int]]) -> list[float]:
        import torch

        tokens_BM = torch.tensor(continuations, device=self.model.device)
        logits_BMV = read.logits[:, -1:].expand(len(tokens_BM), -1, -1)
        if tokens_BM.shape[1] > 1:
            cache = copy.deepcopy(read.past_key_values)
            cache.batch_repeat_interleave(len(tokens_BM))
            rest = self.model(input_ids=tokens_BM[:, :-1], past_key_values=cache).logits
            logits_BMV = torch.cat([logits_BMV, rest], dim=1)
        scores_BMV = torch.log_softmax(logits_BMV.float(), dim=-1)
        return scores_BMV.gather(2, tokens_BM[:, :, None]).sum(dim=(1, 2)).tolist()

    def _generate_batch(
        self, prompts: list[list[int]], max_new_tokens: int, stop: str | None
    ) -> list[Output]:
        import torch
        from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

        pad = self.eos[0] if self.eos else 0
        batch = left_padded(prompts, pad, self.model.device)
        length = batch["input_ids"].shape[1]
        how = self.decoding
        drawn = {"temperature": how.temperature, "top_p": how.top_p or 1.0, "top_k": how.top_k or 0}
        # Built from nothing: a checkpoint's own generation settings may sample.
        settings = GenerationConfig(
            do_sample=how.draws,
            num_beams=how.beams,
            **(drawn if how.draws else {}),
            max_new_tokens=max_new_tokens,
            eos_token_id=self.eos or None,
            pad_token_id=pad,
            bos_token_id=self.tokenizer.bos_token_id,
        )
        stops = [] if stop is None else [StopText(self.tokenizer, length, stop)]
        watch = FiniteLogits(
            lambda i: beginning(self.tokenizer, prompts[i // how.beams]), self.model.dtype
        )
        with torch.no_grad(), torch.random.fork_rng(enabled=how.draws):
            if how.draws:
                torch.manual_seed(seed_of(how.seed, prompts[0]))
            sequences = self.model.generate(
                **batch,
                generation_config=settings,
                logits_processor=LogitsProcessorList([watch]),
                stopping_criteria=StoppingCriteriaList(stops),
            )
        written = sequences[:, length:].tolist()
        return [finished(row, self.tokenizer, self.eos, stop) for row in written]

    def run(self, prompts: Sequence[list[int]], new_tokens: int) -> float:
        import torch
        from transformers import GenerationConfig

        device = self.model.device
        batch = left_padded(prompts, 0, device)
        length = batch["input_ids"].shape[1]
        settings = GenerationConfig(
            do_sample=False, max_new_tokens=new_tokens, min_new_tokens=new_tokens, pad_token_id=0
        )
        wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
        wait()
        start = time.perf_counter()
        with torch.no_grad():
            sequences = self.model.generate(**batch, generation_config=settings)
        wait()
        seconds = time.perf_counter() - start
        if sequences.shape[1] != length + new_tokens:
            raise RuntimeError(f"wrote {sequences.shape[1] - length} tokens, not {new_tokens}")
        return seconds


def seed_of(seed: int, prompt: Sequence[int]) -> int:
    """Return the seed of a prompt's draws, below 2**63."""
    digest = hashlib.sha256(json.dumps([seed, *prompt]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


class FiniteLogits:
    """Logits processor that changes nothing; raises for a row that is not finite.

    ``describe`` returns what a row of the batch continues, for the message.
    """

    def __init__(self, describe: Callable[[int], str], dtype: Any):
        self.describe = describe
        self.dtype = dtype

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return ``scores`` [B, V] as they are."""
        import torch

        if torch.isfinite(scores.sum(dim=-1)).all():  # much cheaper than to look at each
            return scores
        broken = (~torch.isfinite(scores)).any(dim=-1).nonzero()
        if len(broken):
            row = self.describe(int(broken[0]))
            raise RevocabError(f"logits after {row} are not finite; {cause(self.dtype)}")
        return scores


class StopText:
    """Stopping criterion, true for each row whose newest text holds the stop."""

    def __init__(self, tokenizer: Any, prompt_length: int, stop: str):
        self.tokenizer = tokenizer
        self.prompt_length = prompt_length
        self.stop = stop
        # A token has a byte at least, so the newest suffice; a few more in case some are empty.
        self.window = len(stop.encode()) + 6

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        """Return a boolean tensor [B]."""
        import torch

        newest = input_ids[:, max(self.prompt_length, input_ids.shape[1] - self.window) :]
        texts = self.tokenizer.batch_decode(newest, skip_special_tokens=True)
        done = [self.stop in text for text in texts]
        return torch.tensor(done, device=input_ids.device)


def left_padded(
    prompts: Sequence[list[int]], pad: int, device: torch.device
) -> dict[str, torch.Tensor]:
    """Return prompts padded on the left, and their mask, both int64 [B, L]."""
    import torch

    length = max(map(len, prompts))
    tokens = [[pad] * (length - len(prompt)) + prompt for prompt in prompts]
    mask = [[0] * (length - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return {
        "input_ids": torch.tensor(tokens, device=device),
        "attention_mask": torch.tensor(mask, device=device),
    }


def load_choices(checkpoint: Checkpoint, *, long_prompts: Literal["error", "cut"]) -> ChoiceModel:
    from revocab.evaluation.inference.shared_contexts import SharedContextLM

    class Choices(Refusing, SharedContextLM):
        """The harness's model, which computes shared contexts once."""

        def close(self) -> None:
            self._model = None

    weights = load_weights(checkpoint)
    model = Choices(
        checkpoint.folder,
        pretrained=weights,
        tokenizer=load_prompt_tokenizer(checkpoint.folder),
        batch_size=checkpoint.batch_size,
    )
    model.long_prompts, model.longest = long_prompts, model.max_length + 1
    model.number_type = weights.dtype
    return model


def load_weights(checkpoint: Checkpoint) -> PreTrainedModel:
    dtype, device, gpus = checkpoint.dtype, checkpoint.device, checkpoint.gpus
    return load_causal_lm(checkpoint.folder, dtype=dtype, device=device, gpus=gpus)


ENGINE = Engine(
    name="transformers",
    libraries=("torch", "transformers"),
    generation=TransformersGenerator,
    multiple_choice=load_choices,
    efficiency=TransformersGenerator,
    decodes=True,
    harness_name="hf",
)
