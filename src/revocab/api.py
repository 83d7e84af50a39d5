"""What Python programs call; ``docs/quickstart.md`` shows it.

Models and tokenizers are folders or Hub ids (``owner/name``, ``owner/name@revision``), matrices are
tensors. Everything that cannot be done raises :class:`revocab.RevocabError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from revocab.errors import RevocabError
from revocab.models.hub_or_folder import What, fetch_inputs, local
from revocab.progress import Say, silent
from revocab.vocabulary.intersection import Identity

if TYPE_CHECKING:
    import torch

    from revocab.models.findings import Finding
    from revocab.vocabulary.intersection import Intersection

__all__ = ["RevocabError", "adapt_model", "check", "shared_tokens", "target_matrix"]

#: A folder or a Hub id.
Place = str | Path


def adapt_model(
    source: Place,
    out: Place,
    method: str,
    *,
    target_tokenizer: Place,
    options: Mapping[str, Any] | None = None,
    source_tokenizer: Place | None = None,
    helper: Place | None = None,
    auxiliary: Place | None = None,
    adapted: Place | None = None,
    base: Place | None = None,
    identity: Identity = "bytes",
    languages: Sequence[str] = (),
    seed: int = 0,
    device: str = "cpu",
    say: Say = silent,
) -> Path:
    """Write the folder ``out``: the model ``source`` with the target tokenizer; return its path.

    As ``revocab init`` does: ``options`` are the method's; ``helper`` (a model, ideally with the
    target tokenizer), ``auxiliary`` (a folder of ``revocab train_auxiliary``, or a file of vectors
    by token text), ``adapted`` and ``base`` (a model with the target's tokens, and what it was
    adapted from) are for methods that need them;
    ``languages`` are ISO 639 codes for the model's card; ``say`` is told what is being done.
    Matrices are read one at a time, and all other weights are copied, or linked where they can be.
    """
    from revocab.closed import checked, models_of
    from revocab.initialise.adapted_model import initialise_model
    from revocab.initialise.options import ChosenMethod, InitInputs, InitJob

    inputs = InitInputs(
        source=Path(source),
        target_tokenizer=Path(target_tokenizer),
        source_tokenizer=source_tokenizer and Path(source_tokenizer),
        helper=helper and Path(helper),
        vectors=auxiliary and Path(auxiliary),
        adapted=adapted and Path(adapted),
        base=base and Path(base),
    )
    chosen = checked(ChosenMethod, {**(options or {}), "method": method})
    job = models_of(InitJob)[method].of(
        chosen, identity=identity, languages=[*languages], seed=seed
    )
    initialise_model(fetch_inputs(inputs), job, Path(out), device=device, say=say)
    return Path(out)


def target_matrix(
    source_VD: torch.Tensor,
    method: str,
    *,
    source_tokenizer: Place,
    target_tokenizer: Place,
    options: Mapping[str, Any] | None = None,
    helper_VD: torch.Tensor | None = None,
    auxiliary_VA: torch.Tensor | None = None,
    which: Literal["input", "output"] = "input",
    identity: Identity = "bytes",
    seed: int = 0,
    device: str = "cpu",
) -> torch.Tensor:
    """Return one matrix of the target vocabulary, [target tokens, D], in the source's dtype.

    ``source_VD`` has a row per token of the source tokenizer (rows of padding after them count for
    nothing), ``helper_VD`` one per target token, of any width: a helper's embeddings, or its LM
    head where ``which`` is ``output``. Methods that compare tokens do so by ``auxiliary_VA``, rows
    by target token (zeros where it has none); none: ``helper_VD``. Methods whose option
    ``auxiliary`` is ``file`` or ``fasttext`` read ``auxiliary_VA`` alone.
    """
    from revocab.closed import checked
    from revocab.initialise.method import Auxiliary
    from revocab.initialise.options import ChosenMethod, find_method
    from revocab.initialise.reading.material import make_inputs
    from revocab.initialise.reading.vocabularies import Vocabularies
    from revocab.initialise.rows.means import reads_auxiliary
    from revocab.initialise.target_matrix import fill

    job = checked(ChosenMethod, {**(options or {}), "method": method})
    chosen = find_method(method)
    if chosen.keeps_vocabulary:
        raise RevocabError(f"method {method!r} keeps the vocabulary: there is no new matrix")
    if chosen.needs_donor:
        raise RevocabError(f"method {method!r} reads whole models; call adapt_model with folders")
    if rows := getattr(job, "pad_to", None):
        raise RevocabError(
            f"method {method!r}, option pad_to = {rows}: a matrix alone cannot say which rows are"
            " padding; call adapt_model with folders"
        )
    vocabularies = Vocabularies(
        _folder(source_tokenizer, "tokenizer"), _folder(target_tokenizer, "tokenizer"), identity
    )
    sources, targets = len(vocabularies.source_tokenizer), len(vocabularies.target_tokenizer)
    helped, auxiliary = chosen.needs(job) == "helper", reads_auxiliary(chosen, job)
    if auxiliary_VA is None and helped:
        auxiliary_VA = helper_VD
    _check_rows(
        method,
        {
            "source_VD": (source_VD, sources, True),
            "helper_VD": (helper_VD, targets, helped),
            "auxiliary_VA": (auxiliary_VA, targets, auxiliary),
        },
    )
    source_VD = source_VD[:sources]
    more: dict[str, Any] = {}
    if helper_VD is not None:
        more["helper_VD"] = helper_VD[:targets]
    if auxiliary and auxiliary_VA is not None:
        more["auxiliary"] = Auxiliary(auxiliary_VA[:targets].to(device).float())
    inputs = make_inputs(source_VD, vocabularies, matrix=which, seed=seed, device=device, **more)
    return fill(source_VD, inputs, chosen, job)


def _check_rows(method: str, matrices: Mapping[str, tuple[torch.Tensor | None, int, bool]]) -> None:
    """Raise :class:`RevocabError` for matrices that are needed and absent, or lack rows."""
    problems = [
        f"{name}: method {method!r} needs it; give a matrix of {tokens} rows, one per token"
        for name, (rows_VD, tokens, needed) in matrices.items()
        if needed and rows_VD is None
    ]
    problems += [
        f"{name}: shape {tuple(rows_VD.shape)}; its tokenizer has {tokens} tokens, give a row each"
        for name, (rows_VD, tokens, _) in matrices.items()
        if rows_VD is not None and (rows_VD.ndim != 2 or len(rows_VD) < tokens)
    ]
    if problems:
        raise RevocabError(problems)


def shared_tokens(source: Place, target: Place, identity: Identity = "bytes") -> Intersection:
    """Return the tokens that two tokenizers share, as ids on both sides, and those that are new."""
    from revocab.vocabulary.intersection import intersect
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    first, second = (load_tokenizer(_folder(place, "tokenizer")) for place in (source, target))
    return intersect(first, second, identity)


def check(model: Place) -> list[Finding]:
    """Return what is wrong with a model, errors first, as ``revocab check`` says it.

    Each has a ``code``, a ``severity`` (error, warning, note), ``what`` is wrong, its ``effect``
    and what will ``mend`` it.
    """
    from revocab.product.check.kind import look_at

    return look_at(_folder(model, "model"))


def _folder(place: Place, what: What) -> Path:
    return local(Path(place), what)
