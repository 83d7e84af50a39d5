"""One experiment file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from revocab.closed import Closed, Id, OneLine, any_of
from revocab.config.schema.data import Corpus, Tokenizer
from revocab.config.schema.evaluation import Evaluation, Fertility, Similarity
from revocab.config.schema.models import Model
from revocab.config.schema.runs import AuxiliaryTraining, RunGroup, Scale
from revocab.demoworld.build import WorldOptions
from revocab.models.parameters import ParameterCount
from revocab.report.kind import figure_kinds, table_kinds
from revocab.training.recipe import Recipe

#: What a file says of one table or figure: the options of its kind, of which ``kind`` tells.
TableOptions = any_of(one.options for one in table_kinds().values())
FigureOptions = any_of(one.options for one in figure_kinds().values())


class Experiment(Closed):
    """One experiment file. ``docs/architecture.md`` walks through it."""

    experiment: Id
    title: OneLine
    seed: int = 17
    #: Folder that ``{data_root}`` stands for in paths; give it with ``--config data_root=FOLDER``.
    data_root: OneLine | None = None
    #: Folder with the published values (CSV files by table), shown beside ours; none: not shown.
    paper_values: OneLine | None = None
    world: WorldOptions | None = None
    corpora: dict[Id, Corpus]
    tokenizers: dict[Id, Tokenizer]
    #: Roles of special tokens by tokenizer and spelling, beside those that tokenizers declare
    #: themselves: tokens of equal role are one token in an intersection.
    roles: dict[Id, dict[OneLine, Id]] = Field(default_factory=dict)
    #: Shares of tokens; ``size`` corpora share what is left, by size (``size_exponent``).
    mixtures: dict[Id, dict[Id, Annotated[float, Field(gt=0, le=1)] | Literal["size"]]]
    recipes: dict[Id, Recipe]
    models: dict[Id, Model]
    runs: dict[Id, RunGroup]
    #: Needed where a run has the option ``auxiliary: fasttext``.
    auxiliary: AuxiliaryTraining | None = None
    evaluation: Evaluation
    fertility: Fertility
    similarity: Similarity = Field(default_factory=Similarity)
    parameters: list[ParameterCount] = Field(default_factory=list)
    #: Extra pairs of tokenizers to intersect, beside those the runs need.
    intersections: list[tuple[Id, Id]] = Field(default_factory=list)
    scale: Scale | None = None
    tables: dict[Id, TableOptions]
    figures: dict[Id, FigureOptions]
