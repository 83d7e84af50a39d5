"""What an initialisation computes from: folders that are open, checked, and fit each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from revocab.errors import refuse
from revocab.heavy_types import Tensor
from revocab.initialise.method import Auxiliary, Method, MethodInputs, MethodOptions
from revocab.initialise.options import InitInputs, InitJob, find_method
from revocab.initialise.reading.fasttext import load_auxiliary
from revocab.initialise.reading.helper import Coverage, Donor, Helper, check_rows_fit
from revocab.initialise.reading.token_vectors import load_token_vectors
from revocab.initialise.reading.vocabularies import MissingPieces, Vocabularies
from revocab.initialise.rows.means import reads_auxiliary
from revocab.initialise.rows.source_weights import read_word_starts
from revocab.models.folder import ModelFolder, Which, check_tokenizer_folder
from revocab.models.load import check_model
from revocab.models.token_rows import further_tables, is_per_layer
from revocab.progress import Say


@dataclass(frozen=True)
class Material:
    """The inputs and the job of an initialisation, and the models and vectors behind them, open."""

    inputs: InitInputs
    job: InitJob
    device: str
    source: ModelFolder
    vocabularies: Vocabularies
    helper: Helper | None = None
    #: Rows that are the same for both matrices.
    auxiliary: Auxiliary | None = None
    donor: Donor | None = None
    #: Tensors of the source beside embedding and head that have a row per token, and their rows.
    tables: dict[str, int] = field(default_factory=dict)
    #: What a method takes from the helper alone: a tied one has the same rows for both matrices.
    shared: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, inputs: InitInputs, job: InitJob, device: str, say: Say) -> Material:
        """Return what the method reads, ``inputs`` being checked.

        Raises :class:`RevocabError` for what :func:`revocab.models.load.check_model` refuses in any
        of the models, and for folders that do not fit each other.
        """
        method = find_method(job.method)
        source = ModelFolder(inputs.source)
        assert inputs.target_tokenizer is not None  # InitInputs.check
        check_tokenizer_folder(inputs.target_tokenizer)
        own = inputs.source_tokenizer or inputs.source
        vocabularies = Vocabularies(own, inputs.target_tokenizer, job.identity, inputs.pairs)
        tables = further_tables(source, len(vocabularies.source_tokenizer))
        refuse(_table_problems(source, tables, job))
        check_model(inputs.source)
        shared = vocabularies.intersection
        say(
            f"{len(shared.target_ids):,} of the {len(vocabularies.target_tokenizer):,} tokens are"
            f" the source's too; {len(shared.missing):,} are new"
        )
        helper = donor = None
        needed = method.needs(job)
        if needed == "helper":
            assert inputs.helper is not None  # InitInputs.check
            target = vocabularies.target_tokenizer
            if method.takes_helper_rows:
                check_rows_fit(inputs.helper, target, source, method.name)
            check_model(inputs.helper)
            pairs = inputs.helper_pairs
            helper = Helper.open(inputs.helper, target, identity=job.identity, pairs=pairs)
            if coverage := helper.coverage(shared):
                coverage.check(method, inputs.helper)
        if method.needs_donor:
            assert inputs.adapted is not None and inputs.base is not None  # InitInputs.check
            donor = Donor.open(inputs.adapted, inputs.base, source, vocabularies)
        auxiliary = None
        if reads_auxiliary(method, job):
            if helper is not None:
                auxiliary = Auxiliary(helper.matrix("input").to(device).float())
            else:
                assert inputs.vectors is not None  # InitInputs.check
                load = load_auxiliary if needed == "fasttext" else load_token_vectors
                tokenizers = vocabularies.source_tokenizer, vocabularies.target_tokenizer
                auxiliary = load(inputs.vectors, *tokenizers, device)
        return cls(inputs, job, device, source, vocabularies, helper, auxiliary, donor, tables)

    @cached_property
    def method(self) -> Method:
        return find_method(self.job.method)

    @cached_property
    def coverage(self) -> Coverage | None:
        return self.helper.coverage(self.vocabularies.intersection) if self.helper else None

    @cached_property
    def word_starts(self) -> dict[int, list[int]]:
        """Return the source rows that words of a list start from; none of a method that does not
        copy shared rows or carries another run's.
        """
        both, method = self.vocabularies, self.method
        if not getattr(self.job, "words", False) or not method.copies_overlap or method.needs_donor:
            return {}
        folder = self.inputs.target_tokenizer
        assert folder is not None  # InitInputs.check
        starts = read_word_starts(folder, both.source_tokenizer, both.target_tokenizer)
        missing = set(both.intersection.missing.tolist())
        return {token: rows for token, rows in starts.items() if token in missing}

    def method_inputs(self, which: Which, source_VD: Tensor) -> MethodInputs:
        import torch

        more: dict[str, Any] = {"auxiliary": self.auxiliary, "word_starts": self.word_starts}
        if self.helper is not None:
            more["helper_VD"] = self.helper.matrix(which)
            more["helper_known_V"] = self.helper.known_V
            if self.helper.model.tied:
                more["shared"] = self.shared
        if self.donor is not None:
            more["donor"] = self.donor.rows(which)
            more["kept_N"] = torch.tensor(self.donor.special_in_both, dtype=torch.int64)
        more |= {"matrix": which, "tied": self.source.tied, "seed": self.job.seed}
        return make_inputs(source_VD, self.vocabularies, device=self.device, **more)


def _table_problems(
    source: ModelFolder, tables: Mapping[str, int], options: MethodOptions
) -> Iterator[str]:
    others = [name for name in tables if not is_per_layer(name)]
    if getattr(options, "tables", None) is not None and not tables:
        yield (
            f"option tables: {source.path} has no tensor with a row per token beside embedding and"
            " head; leave it out"
        )
    if getattr(options, "pad_to", None) is not None and others:
        yield (
            f"option pad_to: {source.path} has further tensors with a row per token"
            f" ({', '.join(others)}), whose padding programs would not cut off; leave it out"
        )


def make_inputs(
    source_VD: Tensor, vocabularies: Vocabularies, *, seed: int, device: str = "cpu", **more: Any
) -> MethodInputs:
    """Return a method's inputs for one matrix, float32 on ``device`` (with a donor, the source's is
    as stored); ``more`` are further fields.
    """
    import torch

    notes: dict[str, Any] = {}
    pairs, spelling = vocabularies.intersection, MissingPieces(vocabularies, notes)

    def ids(values: Any) -> Tensor:
        return torch.as_tensor(values.copy(), dtype=torch.int64, device=device)

    for key, dtype in (("helper_VD", torch.float32), ("helper_known_V", torch.bool)):
        if more.get(key) is not None:
            more[key] = more[key].to(device=device, dtype=dtype)
    source_dtype = torch.float32 if more.get("donor") is None else None
    return MethodInputs(
        source_VD=source_VD.to(device=device, dtype=source_dtype),
        target_rows=len(vocabularies.target_tokenizer),
        overlap_target_N=ids(pairs.target_ids),
        overlap_source_N=ids(pairs.source_ids),
        missing_N=ids(pairs.missing),
        seed=seed,
        pieces=spelling.pieces,
        pieces_released=spelling.pieces_released,
        spelt=spelling.spelt,
        source_text=spelling.source_text,
        target_text=spelling.target_text,
        notes=notes,
        **more,
    )
