"""What a method is, and the registry that finds the ones in ``methods/``.

Config validation imports this, so nothing here or at the top of a method's file imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from revocab.closed import Closed, OneLine
from revocab.errors import RevocabError
from revocab.extensions import found_in
from revocab.heavy_types import Tensor
from revocab.limits import NotNegative, Size

if TYPE_CHECKING:
    import torch

    from revocab.initialise.rows.source_weights import SourceWeights


class MethodOptions(Closed):
    """Base of a method's options, and those of one that keeps the vocabulary: none."""


class RowsOptions(MethodOptions):
    """Options of every method that makes a matrix for a new vocabulary."""

    #: Where none is added, a model's folder does not mention it.
    pad_to: Size | None = Field(
        default=None,
        exclude_if=lambda multiple: multiple is None,
        description="rows are added up to a multiple of this; default: none is",
    )
    tables: OneLine | None = Field(
        default=None,
        exclude_if=lambda name: name is None,
        description="the method that fills further tensors with a row per token, such as embeddings"
        " per layer; default: this one where it can, else fvt",
    )
    words: bool = Field(
        default=True,
        exclude_if=lambda value: value,
        description="rows of words of a list start from the source token or the description that"
        " the list gives them; false: from this method, like others",
    )
    words_noise: NotNegative = Field(
        default=0.0,
        exclude_if=lambda value: not value,
        description="seeded normal noise on these rows, as a share of the source rows' deviation",
    )


@dataclass(frozen=True)
class Auxiliary:
    """Rows by token id, float32; a zero row says that the token has no auxiliary embedding."""

    target_VA: Tensor
    #: Source tokens in the same space; none: only shared tokens are known, by their target row.
    source_VA: Tensor | None = None
    #: Target tokens whose vector was trained itself (fastText: frequent enough); none: all.
    target_trained_V: Tensor | None = None


@dataclass(frozen=True)
class DonorRows:
    """One matrix of an adapted model, by target id, and of its base, by source id, as stored; and
    which rows there are (bool; none: all). See ``docs/methods.md``, lep.
    """

    adapted_VD: Tensor
    adapted_known_V: Tensor | None
    base_VD: Tensor
    base_known_V: Tensor | None


@dataclass(frozen=True)
class MethodInputs:
    """What a method may look at, for one matrix (input embedding or LM head).

    All matrices are float32 on one device (with a donor, source rows are as stored), without rows
    of padding. ``overlap_target_N[i]`` and ``overlap_source_N[i]`` are the ids of one shared token;
    ``missing_N`` are the target ids without a source row; both sorted by target id (int64).
    """

    source_VD: Tensor
    target_rows: int
    overlap_target_N: Tensor
    overlap_source_N: Tensor
    missing_N: Tensor
    seed: int
    #: Source token ids whose concatenated text is that of a target token, never empty; and the same
    #: as the released FVT code tokenises (a literal marker character).
    pieces: Callable[[int], list[int]]
    pieces_released: Callable[[int], list[int]]
    #: Whether these pieces spell the target token, or are its counterpart or stand-in as a special
    #: token; else they stand in for a text that the source cannot spell.
    spelt: Callable[[int], bool] = lambda _: True
    #: The text of a source token, and of a missing target token; "" of special ones and of bytes.
    source_text: Callable[[int], str] = lambda _: ""
    target_text: Callable[[int], str] = lambda _: ""
    #: The helper's rows by target id, whatever its own tokenizer; zeros where it lacks the token.
    helper_VD: Tensor | None = None
    #: Target tokens that the helper has (bool); none: all. Methods see no others, unless they fill
    #: those themselves (``without_helper_row``).
    helper_known_V: Tensor | None = None
    #: What methods with an ``auxiliary`` option read in the place of ``helper_VD``; none: that.
    auxiliary: Auxiliary | None = None
    #: Missing target tokens that are words of a list, and the source rows that each starts from.
    word_starts: Mapping[int, list[int]] = field(default_factory=dict)
    #: Rows of another run, for methods that ask for one.
    donor: DonorRows | None = None
    #: Target ids of tokens that are special or added in source and target (int64).
    kept_N: Tensor | None = None
    #: Which matrix this is: so that random draws for the two differ under one seed.
    matrix: Literal["input", "output"] = "input"
    #: Whether the model has one matrix, called "input", whose rows are the head's, too.
    tied: bool = False
    #: Methods note here what a reader should know of the computation (JSON values).
    notes: dict[str, Any] = field(default_factory=dict)
    #: What a method need not compute again for the second matrix, where the helper has only one.
    shared: dict[str, Any] = field(default_factory=dict)

    @property
    def guide_VX(self) -> Tensor:
        """Rows by target id from which new rows are computed: the auxiliary's or the helper's."""
        guide_VX = self.helper_VD if self.auxiliary is None else self.auxiliary.target_VA
        assert guide_VX is not None  # a method asks for one or the other
        return guide_VX

    def generator(self) -> torch.Generator:
        import torch

        return torch.Generator().manual_seed(2 * self.seed + (self.matrix == "output"))

    def require_overlap(self, method: str, purpose: str) -> None:
        """Raise :class:`RevocabError` when no token is shared; ``purpose``: what for, in words."""
        if not len(self.overlap_target_N):
            raise RevocabError(
                f"method {method!r}: no token is shared by source and target vocabulary, and "
                f"{method} {purpose}; use fvt or mean, or check --identity"
            )


@dataclass(frozen=True)
class Method:
    """One way to fill the rows of a target vocabulary.

    ``initialise(inputs, options)`` returns float32 rows (or, with a donor, of the source's dtype):
    one per ``missing_N`` when ``copies_overlap``, else one per target id. A method that
    ``keeps_vocabulary`` (lapt, base) changes no matrix at all. One whose new rows are weighted sums
    of source rows may give the weights as ``source_weights(inputs, options)``, a row per
    ``missing_N``: vocabulary adapters start from them (``docs/methods.md``), and without
    ``initialise`` they make the rows. It has ``copies_overlap``.
    """

    name: str
    #: What readers of tables and figures see.
    label: str
    summary: str
    citation: str
    options: type[MethodOptions] = RowsOptions
    initialise: Callable[[MethodInputs, Any], Tensor] | None = None
    source_weights: Callable[[MethodInputs, Any], SourceWeights] | None = None
    needs_helper: bool = False
    #: What new tokens get that a helper of another tokenizer, or a file of vectors, lacks. pieces:
    #: the mean of their source pieces; the method sees only tokens that have a row. own: what the
    #: method itself gives them; it sees all tokens, and a row of zeros where there is none.
    without_helper_row: Literal["pieces", "own"] = "pieces"
    #: Whether it takes the helper's rows as they are: of a helper with the target's tokenizer.
    takes_helper_rows: bool = False
    #: Whether it reads the rows of an adapted model of another run.
    needs_donor: bool = False
    copies_overlap: bool = True
    #: Whether new rows are sums of source rows, and neither which nor their weights depend on the
    #: rows' values; what has ``source_weights`` need not say so.
    mixes_rows: bool = False
    keeps_vocabulary: bool = False
    trains: bool = True
    #: Hexadecimal colour of its lines (none: the next one that is free), and their dashes as
    #: matplotlib takes them (none: solid).
    colour: str | None = None
    dash: tuple[float, tuple[float, ...]] | None = None
    #: Colours of runs that are named after the method and a variant of it, ``sava-lstsq``.
    variant_colours: Mapping[str, str] = field(default_factory=dict)

    @property
    def fills_tables(self) -> bool:
        """Whether the method can fill any tensor with a row per token as it fills the embedding."""
        return self.mixes_rows or self.source_weights is not None

    def needs(self, options: Any) -> Literal["helper", "fasttext", "file"] | None:
        """Return what must be given beside source and target, with these (parsed) options."""
        chosen = getattr(options, "auxiliary", None)
        if chosen in ("fasttext", "file"):
            return chosen
        return "helper" if self.needs_helper else None


@cache
def methods() -> dict[str, Method]:
    from revocab.initialise import methods as package

    return found_in(package, "METHOD")
