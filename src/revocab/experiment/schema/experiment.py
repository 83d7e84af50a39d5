"""One experiment file."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from revocab.closed import Closed, CorpusId, Id, OneLine, TokenizerId, any_of
from revocab.demoworld.build import WorldOptions
from revocab.experiment.schema.data import Corpus, Model, Tokenizer
from revocab.experiment.schema.evaluation import Evaluation, Fertility, Similarity
from revocab.experiment.schema.runs import AuxiliaryVectors, RunGroup, Scale
from revocab.limits import Seed, Share
from revocab.models.parameters import ParameterCount
from revocab.report import kind
from revocab.training.recipe import Recipe

#: What a file says of one table or figure: the options of its kind, of which ``kind`` tells.
if TYPE_CHECKING:
    from revocab.experiment.expand import Run
    from revocab.report.runs import RunIndex

    TableOptions = kind.TableOptions
    FigureOptions = kind.FigureOptions
else:
    TableOptions = any_of(kind.TableOptions)
    FigureOptions = any_of(kind.FigureOptions)


class Experiment(Closed):
    """One experiment file. ``docs/architecture.md`` walks through it."""

    #: Names its folders in `results` and `resources`.
    experiment: Id
    #: Heading of the report.
    title: OneLine
    #: How text is packed and what is pretrained here; runs take it unless they have their own.
    seed: Seed = 17
    #: Folder that ``{data_root}`` stands for in paths; give it with ``--config data_root=FOLDER``.
    data_root: OneLine | None = None
    #: Folder with files of one's own, by their places in the package; its Python is run.
    extensions: OneLine | None = Field(default=None, exclude_if=lambda folder: folder is None)
    #: Folder with the published values (CSV files by table), shown beside ours; none: not shown.
    paper_values: OneLine | None = None
    world: WorldOptions | None = None
    corpora: dict[Id, Corpus] = Field(default_factory=dict)
    tokenizers: dict[Id, Tokenizer] = Field(default_factory=dict)
    #: Roles of special tokens by tokenizer and spelling, beside those that tokenizers declare
    #: themselves: tokens of equal role are one token in an intersection.
    roles: dict[TokenizerId, dict[OneLine, Id]] = Field(default_factory=dict)
    #: Shares of all tokens; ``size`` corpora share what is left, in proportion to their bytes.
    mixtures: dict[Id, dict[CorpusId, Share | Literal["size"]]] = Field(default_factory=dict)
    recipes: dict[Id, Recipe] = Field(default_factory=dict)
    models: dict[Id, Model] = Field(default_factory=dict)
    runs: dict[Id, RunGroup] = Field(default_factory=dict)
    #: Needed where a run has the option ``auxiliary: fasttext`` or ``auxiliary: file``.
    auxiliary: AuxiliaryVectors | None = None
    evaluation: Evaluation = Field(default_factory=Evaluation)
    fertility: Fertility = Field(default_factory=Fertility)
    similarity: Similarity = Field(default_factory=Similarity)
    parameters: list[ParameterCount] = Field(default_factory=list)
    #: Extra pairs of tokenizers to intersect, beside those the runs need.
    intersections: list[tuple[TokenizerId, TokenizerId]] = Field(default_factory=list)
    scale: Scale | None = None
    #: Tables of the report, by id.
    tables: dict[Id, TableOptions] = Field(default_factory=dict)
    #: Figures of the report, by id.
    figures: dict[Id, FigureOptions] = Field(default_factory=dict)

    @cached_property
    def expanded(self) -> dict[str, Run]:
        """Return every run by id, in the order of the file; also of a file that is wrong."""
        from revocab.experiment.expand import expand  # runs stand on the schema

        return {run.id: run for run in expand(self)}

    @cached_property
    def index(self) -> RunIndex:
        """Return the runs as tables and figures name them; also of a file that is wrong."""
        from revocab.report.runs import RunIndex  # imports what stands on the schema

        return RunIndex(self, self.expanded.values())
