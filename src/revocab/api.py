"""What Python programs call; ``docs/quickstart.md`` shows it.

A function for each of the verbs that a program has a use for: a verb's flags, with underscores, are
its keywords, checked as the flags are, and the same code runs. Models and tokenizers are folders or
Hub ids (``owner/name``, ``owner/name@revision``), matrices are tensors. Everything that cannot be
done raises :class:`revocab.RevocabError`, which names every keyword that is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from revocab.__main__ import VERBS, verb_of
from revocab.errors import RevocabError, refuse
from revocab.models.hub_or_folder import local
from revocab.vocabulary.intersection import Identity

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from revocab.command_line import CommandLine
    from revocab.models.findings import Finding
    from revocab.vocabulary.intersection import Intersection

__all__ = [
    "RevocabError", "adapt", "check", "export", "fertility", "init", "intersect", "target_matrix",
    "trim",
]  # fmt: skip

#: A folder or a Hub id.
Place = str | Path


def adapt(
    model: Place | None = None, text: Mapping[str, Place] | None = None, **options: Any
) -> Path:
    """Adapt a model to the language of a text, and return the folder of the adapted model.

    ``text`` and ``keep`` are files or folders of text by language code (``{"it": "italian.txt"}``);
    without ``model``, ``demo=True`` trains a small stand-in. ``minutes`` limits all of it,
    ``tokens`` the training; ``vocabulary`` is a number of tokens. In the folder ``out``, beside
    ``model/``, which is returned, is ``verdict.json``: losses in bits per byte before and after,
    with 95 % intervals.

    After a stop, the same call goes on, or the command on top of ``adapt.yaml``. Raises
    :class:`RevocabError` for wrong texts, where ``revocab advise`` says *don't* (unless
    ``anyway=True``), and for an ``out`` that something else wrote.
    """
    from revocab.product.verdict import MODEL

    line, keywords = command_line("adapt"), {"model": model, "text": text, **options}
    arguments = line.of(**keywords)
    verb_of("adapt").function(**dict(arguments), words=line.words(**keywords))
    return Path(arguments.options.out) / MODEL


def init(method: str, **options: Any) -> Path:
    """Write a model with a new vocabulary, its new rows made by a method; return its folder.

    ``source`` is the model, ``target_tokenizer`` the new vocabulary, ``out`` the folder to write;
    ``helper``, ``vectors``, ``adapted`` and ``base`` are for methods that need them, and a method's
    own options are keywords, too (``solver="lstsq"``). Embedding and head become [target tokens,
    D], padded to ``pad_to`` rows where it is given, in the source's dtype, with shared tokens' rows
    bit-identical; all other weights are copied.

    Raises :class:`RevocabError` for a method that does not exist or lacks an input, and for weights
    that are missing or not finite.
    """
    return run("init", method, **options).out


def trim(
    model: Place, text: Mapping[str, Place] | None = None, **options: Any
) -> Path | pd.DataFrame:
    """Drop tokens that some languages do not need; return the folder of the smaller model.

    ``text`` is text by language code; ``keep`` is a number of tokens, ``coverage`` the least share
    (0 to 1) of each text's tokens that stays. Rows of kept tokens are bit-identical, and text of
    kept tokens alone has the same logits as before. With ``dry_run=True`` nothing is written, and
    a frame is returned: a row by choice, with its ``tokens``, ``row_bytes`` of all tensors with a
    row per token, ``model_bytes``, and the share of each text's tokens that stays.

    Raises :class:`RevocabError` for texts that cannot be read and models that cannot be trimmed.
    """
    from revocab.product.trim import trimmed

    line = command_line("trim")
    arguments = line.of(model=model, text=text, **options)
    result = trimmed(**dict(arguments))
    if not arguments.options.dry_run:
        return Path(arguments.options.out)
    import pandas as pd

    columns = ["choice", "tokens", "row_bytes", "model_bytes", *arguments.text]
    rows = [[*sizes, *shares] for *sizes, shares in result["savings"]]
    return pd.DataFrame(rows, columns=columns).set_index("choice")


def fertility(
    tokenizers: Mapping[str, Place],
    corpora: Mapping[str, Place],
    out: Place | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Measure tokenizers on corpora; return a frame with a row for each pair of them.

    Both are folders by a name of your own; a corpus is a folder of ``revocab prepare``.
    ``fertility`` is in tokens per word; ``words_split``, ``unknown_rate`` and ``byte_rate`` are
    shares (0 to 1); sizes are UTF-8 bytes. The folder ``out`` gets more tables; without it they are
    not kept.

    Raises :class:`RevocabError` for what is no tokenizer or corpus, and for a corpus without text
    in the chosen ``split``.
    """
    import pandas as pd

    with TemporaryDirectory() as spare:
        folder = run(
            "fertility", tokenizers=tokenizers, corpora=corpora,
            out=Path(spare) / "fertility" if out is None else out, **options,
        ).out  # fmt: skip
        return pd.read_csv(folder / "fertility.csv", keep_default_na=False, na_values=[""])


def intersect(
    source: Place, target: Place, out: Place | None = None, **options: Any
) -> Intersection:
    """Return the tokens that two tokenizers share, and those that are new in the target.

    ``target_ids[i]`` and ``source_ids[i]`` (int64, [shared], by target id) are the same token;
    ``missing`` (int64, [new]) are the target's others; ``report`` counts, and has examples.
    ``identity`` says when two tokens are the same, by their ``bytes`` or spelling (``marker``). The
    folder ``out`` gets what ``init`` reads as ``pairs``; without it that is not kept.

    Raises :class:`RevocabError` for what is no tokenizer, and roles of tokens that are not there.
    """
    from revocab.vocabulary.intersection import read_pairs

    with TemporaryDirectory() as spare:
        folder = Path(spare) / "pairs" if out is None else out
        return read_pairs(run("intersect", source=source, target=target, out=folder, **options).out)


def check(model: Place, **options: Any) -> list[Finding]:
    """Return what is wrong with a model, errors first; an empty list of a sound one.

    Each has a ``code``, a ``severity`` (error, warning, note), ``what`` is wrong, its ``effect``
    and what will ``mend`` it. ``fix`` is a folder to write a mended copy to: then what is left in
    the copy is returned. No code of the model is run.

    Raises :class:`RevocabError` for what is no model at all.
    """
    from revocab.product.check.check import examine

    return examine(**dict(command_line("check").of(model=model, **options)))[0]


def export(model: Place, out: Place, **options: Any) -> Path:
    """Write a model for llama.cpp, Ollama or PEFT, or its tokenizer for SentencePiece.

    ``to`` is ``gguf`` (``model.gguf`` and a ``Modelfile``), ``sentencepiece``
    (``tokenizer.model``) or ``adapter`` (what PEFT adds to ``base``); ``outtype`` the type of
    matrices; each line of the file ``lines`` is compared as well. Returns ``out``.

    Raises :class:`RevocabError`, and writes nothing, where text would be cut into other tokens
    there (unless ``approximate=True``), and for adapters and architectures that it cannot write.
    """
    return Path(run("export", model=model, out=out, **options).out)


def run(name: str, kind: str = "", /, **keywords: Any) -> Any:
    """Run a verb with keywords for its flags; return the checked values that it ran with."""
    from revocab.cli import perform

    arguments, verb = command_line(name, kind).of(**keywords), verb_of(name)
    if name in VERBS:
        perform(verb, arguments)
    else:
        verb.function(**dict(arguments))
    return arguments


def command_line(name: str, kind: str = "") -> CommandLine:
    """Return what a verb's function takes as keywords."""
    from revocab import verb

    return verb.command_line(verb_of(name), f"revocab.{name}", kind)


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
        raise RevocabError(f"method {method!r} reads whole models; call revocab.init with folders")
    if rows := getattr(job, "pad_to", None):
        raise RevocabError(
            f"method {method!r}, option pad_to = {rows}: a matrix alone cannot say which rows are"
            " padding; call revocab.init with folders"
        )
    source, target = (
        local(Path(each), "tokenizer") for each in (source_tokenizer, target_tokenizer)
    )
    vocabularies = Vocabularies(source, target, identity)
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
    refuse(problems)
