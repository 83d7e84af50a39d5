"""Log-likelihoods of all choices of an item in one pass over their common context.

The harness runs context and choice once per choice. Here a row is the context followed by every
distinct choice, and the attention mask lets a choice see the context and itself only:

    tokens     c c c c | a a | b b b        positions 0 1 2 3 | 4 5 | 4 5 6

so each token's hidden state is what it would be in its own sequence, the context is computed once,
and the output matrix is applied to scored positions only. Anything out of the ordinary takes the
harness's own way.

Sharing adds the same numbers in another order, so a log-likelihood differs in its last digits. That
changes a score only where an item's best two choices are about as close. Such an item is left to
the harness, in the batches that it would make of all requests: padding and the size of a batch
change the last digits too.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

from revocab.models.folder import files_of
from revocab.models.shape import PLAIN_HEADS

#: A batch's attention mask holds at most this many entries (float32: 128 MB).
MASK_ENTRIES = 2**25
#: On a CPU a batch holds at most this many tokens: larger ones leave the cache and are slower
#: (measured at hidden size 128: 64 sequences a batch take 1.3 times as long as 8).
CPU_TOKENS = 2048
#: Near ties are scored in the harness's batches, of which it holds all logits, twice: in smaller
#: ones where that would be more entries than this (float32: 2 GiB, twice).
LOGITS = 2**29

#: What sharing may change in a log-likelihood, in units of the dtype's rounding (2^-23 for float32)
#: of the greater of its magnitude and its number of tokens: the logits of a token that is all but
#: certain are rounded although its log-likelihood is nearly 0. Measured in float32 on real
#: questions (ARC, XCOPA, HellaSwag, MMLU) and the demo's, at most 3 units for random, trained and
#: memorising models of 2 to 24 layers, 9 with an output matrix ten times as large; another batch
#: size changes as much (at most 16 units). Four times the greatest of these, and both choices'
#: errors are added up: none of 6,000 items of the demo's and the benchmark's was that close.
UNITS = 64

#: Context and choice as texts, and the token ids of each.
Request = tuple[tuple[str, str], list[int], list[int]]
#: Log-likelihood, and whether the choice is what greedy decoding writes.
Answer = tuple[float, bool]
#: Tokens, positions, segments and, by choice prefix, the indices that predict it.
Layout = tuple[list[int], list[int], list[int], dict[tuple[int, ...], list[int]]]


@dataclass
class SharedContext:
    """One context with the requests that share it: their indices and choices."""

    context: list[int]
    requests: list[tuple[int, list[int]]] = field(default_factory=list)

    def layout(self) -> Layout:
        """Return the row of the context (segment 0) and all choices without their last token; index
        i predicts the token after it.
        """
        tokens = list(self.context)
        positions, segments = list(range(len(tokens))), [0] * len(tokens)
        predicting: dict[tuple[int, ...], list[int]] = {}
        for _, choice in self.requests:
            prefix = tuple(choice[:-1])
            if prefix in predicting:
                continue
            start = len(tokens)
            predicting[prefix] = [len(self.context) - 1, *range(start, start + len(prefix))]
            tokens += prefix
            positions += range(len(self.context), len(self.context) + len(prefix))
            segments += [len(predicting)] * len(prefix)
        return tokens, positions, segments, predicting


def tokenizer_fingerprint(folder: Path) -> str:
    """Return a hash of the tokenizer files in a model folder: equal means equal token ids."""
    digest = hashlib.sha256()
    named = {folder / name for name in files_of(folder, "tokenizer")}
    for path in sorted(named | {*folder.glob("*token*"), *folder.glob("*.model")}):
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


#: Token ids of texts, which all checkpoints of one tokenizer (by its fingerprint) share.
TOKEN_IDS: defaultdict[str, dict[tuple[Any, ...], list[int]]] = defaultdict(dict)


class SharedContextLM(HFLM):
    """The harness's model with shared contexts and a memory for token ids."""

    batch_size_per_gpu: int

    def __init__(self, folder: Path, **options: Any) -> None:
        self._token_ids = TOKEN_IDS[tokenizer_fingerprint(folder)]
        super().__init__(**options)
        self.rescored = 0  # items that were near ties
        self._instances: Sequence[Instance] = ()
        self.batch_tokens = CPU_TOKENS if self.device.type == "cpu" else float("inf")
        config = self.model.config
        window = getattr(config, "sliding_window", None)
        # Attention must take any mask, logits come from a plain output matrix and rounding be
        # small: in half precision most items are near ties.
        self.shares_contexts = (
            self.model.dtype == torch.float32
            and config.model_type in PLAIN_HEADS
            and self.backend == "causal"
            and (window is None or window >= self.max_length)
            and self.world_size == 1
        )

    def loglikelihood(
        self, requests: Sequence[Instance], disable_tqdm: bool = False
    ) -> list[Answer]:
        self._instances = requests  # _loglikelihood_tokens is given their tokens only
        try:
            return super().loglikelihood(requests, disable_tqdm)
        finally:
            self._instances = ()

    def tok_encode(
        self,
        string: str,
        add_special_tokens: bool | None = None,
        left_truncate_len: int | None = None,
        **options: Any,
    ) -> list[int]:
        """Return token ids as the harness would, from memory if the text was seen before."""
        if left_truncate_len or options:
            return super().tok_encode(string, add_special_tokens, left_truncate_len, **options)
        key = (string, add_special_tokens, self.add_bos_token)
        if key not in self._token_ids:
            self._token_ids[key] = super().tok_encode(string, add_special_tokens)
        return list(self._token_ids[key])

    def _loglikelihood_tokens(
        self, requests: list[Request], disable_tqdm: bool = False, **options: Any
    ) -> list[Answer]:
        """Return the answer to each (texts, context ids, choice ids), in order."""
        if not self.shares_contexts:
            return super()._loglikelihood_tokens(requests, disable_tqdm, **options)
        answers: dict[int, Answer] = {}
        long: list[int] = []
        rows: dict[tuple[int, ...], SharedContext] = {}
        for i, (_, context, choice) in enumerate(requests):
            if len(context) + len(choice) > self.max_length + 1:
                long.append(i)
            else:
                rows.setdefault(tuple(context), SharedContext(context)).requests.append((i, choice))
        if long:  # cut from the left by the harness
            fitting = self.batch_tokens / self.max_length
            answers |= self._score_as_harness(requests, long, fitting)
        for batch in self._batches(list(rows.values())):
            answers.update(self._score(batch))
        results = [answers[i] for i in range(len(requests))]
        if self._instances:
            self._settle_near_ties(requests, results)
        return results

    def _settle_near_ties(self, requests: list[Request], results: list[Answer]) -> None:
        """Replace the results of items that rounding could decide by the harness's own."""
        items = near_ties(self._instances, requests, results, torch.finfo(self.model.dtype).eps)
        self.rescored += len(items)
        chosen = [i for item in items for i in item]
        if not chosen:
            return
        size: float = self.batch_size
        mates = batch_mates(requests, chosen, self.batch_size)
        longest = max(len(requests[i][1]) + len(requests[i][2]) for i in mates)
        entries = min(longest, self.max_length) * self.model.config.get_text_config().vocab_size
        if size * entries > LOGITS:
            mates, size = chosen, LOGITS / entries
        answers = self._score_as_harness(requests, mates, size)
        for i in chosen:
            results[i] = answers[i]

    def _score_as_harness(
        self, requests: list[Request], indices: list[int], batch_size: float
    ) -> dict[int, Answer]:
        usual: int = self.batch_size_per_gpu
        self.batch_size_per_gpu = max(1, int(min(usual, batch_size)))
        try:
            answers = super()._loglikelihood_tokens([requests[i] for i in indices], True)
        finally:
            self.batch_size_per_gpu = usual
        return dict(zip(indices, answers, strict=True))

    def _batches(self, rows: list[SharedContext]) -> Iterator[list[tuple[SharedContext, Layout]]]:
        """Yield rows with their layouts, longest first, within the batch size and mask limit."""
        laid = sorted(((row, row.layout()) for row in rows), key=lambda pair: -len(pair[1][0]))
        batch: list[tuple[SharedContext, Layout]] = []
        size = 0
        for row, layout in laid:
            length = len(batch[0][1][0]) if batch else len(layout[0])
            full = size + len(row.requests) > int(self.batch_size)
            full |= (len(batch) + 1) * length > self.batch_tokens
            if batch and (full or (len(batch) + 1) * length**2 > MASK_ENTRIES):
                yield batch
                batch, size = [], 0
            batch.append((row, layout))
            size += len(row.requests)
        if batch:
            yield batch

    @torch.no_grad()
    def _score(self, batch: list[tuple[SharedContext, Layout]]) -> Iterator[tuple[int, Answer]]:
        """Yield (request index, answer) of a batch of rows."""
        length = len(batch[0][1][0])
        parts = zip(*(layout[:3] for _, layout in batch), strict=True)
        tokens_BL, positions_BL, segments_BL = (
            torch.tensor(
                [values + [filler] * (length - len(values)) for values in part], device=self.device
            )
            for part, filler in zip(parts, (0, 0, -1), strict=True)
        )
        hidden_BLD = self.model.model(
            input_ids=tokens_BL,
            position_ids=positions_BL,
            attention_mask=segment_mask(segments_BL, self.model.dtype),
            use_cache=False,
        ).last_hidden_state
        where: list[int] = []  # flat positions of all scored tokens
        requests: list[tuple[int, list[int]]] = []
        for number, (row, (*_, predicting)) in enumerate(batch):
            for _, choice in row.requests:
                where += [number * length + at for at in predicting[tuple(choice[:-1])]]
            requests += row.requests
        # Of a model on several GPUs not on the one that it was given the tokens on.
        hidden_ND = hidden_BLD.flatten(0, 1)[torch.tensor(where, device=hidden_BLD.device)]
        scores_NV = torch.log_softmax(
            self.model.lm_head(hidden_ND), dim=-1, dtype=self.softmax_dtype
        )
        targets = [token for _, choice in requests for token in choice]
        targets_N = torch.tensor(targets, device=scores_NV.device)
        greedy_N = scores_NV.argmax(dim=-1) == targets_N
        scores_N = scores_NV.gather(1, targets_N[:, None])[:, 0]
        counts = [len(choice) for _, choice in requests]
        by_request = zip(requests, scores_N.split(counts), greedy_N.split(counts), strict=True)
        for (i, _), scores, greedy in by_request:
            yield i, (float(scores.sum()), bool(greedy.all()))


def segment_mask(segments_BL: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the additive mask [B, 1, L, L] by which a token sees the context and its own segment.

    ``segments_BL`` is 0 for context, 1… for choices, -1 for padding, which sees the context and
    itself, so that no row of the softmax is empty.
    """
    length = segments_BL.shape[1]
    earlier_LL = torch.ones(length, length, dtype=torch.bool, device=segments_BL.device).tril()
    same_BLL = segments_BL[:, :, None] == segments_BL[:, None, :]
    seen_BLL = earlier_LL & (same_BLL | (segments_BL == 0)[:, None, :])
    mask_BLL = torch.zeros(seen_BLL.shape, dtype=dtype, device=segments_BL.device)
    return mask_BLL.masked_fill(~seen_BLL, torch.finfo(dtype).min)[:, None]


# Near ties -------------------------------------------------------------------------------------


def near_ties(
    instances: Sequence[Instance],
    requests: Sequence[Request],
    answers: Sequence[Answer],
    rounding: float,
) -> list[list[int]]:
    """Return the request indices of each item whose best choice rounding could change.

    ``requests`` and ``answers`` (log-likelihood, greedy) go with ``instances``; ``rounding`` is the
    dtype's (2^-23 for float32). Requests without ``choice_length`` are compared as they are; those
    that have None there are not compared.
    """
    items: dict[tuple[Any, Any], list[int]] = {}
    for i, instance in enumerate(instances):
        if getattr(instance, "choice_length", 0) is None:
            continue
        items.setdefault((instance.task_name, instance.doc_id), []).append(i)
    near = []
    for indices in items.values():
        # The same text twice has the same score either way: a tie that nothing decides.
        choices = {instances[i].args: i for i in indices}.values()
        bounded = []
        for i in choices:
            score = answers[i][0]
            error = UNITS * rounding * max(abs(score), len(requests[i][2]))
            bounded.append((score, error, getattr(instances[i], "choice_length", 0)))
        if undecided([(score, error) for score, error, _ in bounded]) or undecided(
            [(score / length, error / length) for score, error, length in bounded if length]
        ):
            near.append(indices)
    return near


def undecided(choices: Collection[tuple[float, float]]) -> bool:
    """Return whether errors could make another (value, error) the greatest."""
    if len(choices) < 2:
        return False
    (best, error), *others = sorted(choices, reverse=True)
    return any(best - value <= error + other for value, other in others)


def batch_mates(requests: Sequence[Request], chosen: Collection[int], size: int) -> list[int]:
    """Return the indices of all requests in the harness's batches that hold a ``chosen`` one: given
    to the harness without the rest, they form the same batches again.
    """
    rows: dict[tuple[int, ...], list[int]] = {}  # what differs in the last token only is run once
    for i, (_, context, choice) in enumerate(requests):
        rows.setdefault((*context, *choice[:-1]), []).append(i)

    def order(indices: list[int]) -> tuple[int, list[int]]:
        _, context, choice = requests[max(indices, key=lambda i: len(requests[i][2]))]
        return -len(context + choice), context + choice

    ordered = sorted(rows.values(), key=order)
    wanted, mates = set(chosen), []
    for start in range(0, len(ordered), size):
        batch = [i for row in ordered[start : start + size] for i in row]
        if wanted.intersection(batch):
            mates += batch
    return sorted(mates)
