"""Tables and figures."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from revocab.closed import Closed, Id, Line, Step


class ParametersTable(Closed):
    """Table of parameter counts."""

    kind: Literal["parameters"]
    title: Line


class FertilityTable(Closed):
    """Table of fertility by tokenizer and corpus."""

    kind: Literal["fertility"]
    title: Line


class TokenizersTable(Closed):
    """Tokens per word and character, words split, unknown and byte tokens, by corpus."""

    kind: Literal["tokenizers"]
    title: Line


class ParityTable(Closed):
    """Tokens for parallel text, by tokenizer and language (``fertility.parallel``)."""

    kind: Literal["parity"]
    title: Line


class MultipleChoiceTable(Closed):
    """Scores of one group in one language at chosen steps; families in ``columns`` order."""

    kind: Literal["multiple_choice"]
    title: Line
    group: Id
    language: Id
    steps: list[Step] = Field(default=["first", "last"])
    columns: list[Id] | None = None


class GenerationTable(Closed):
    """Generation metrics of one group at chosen steps."""

    kind: Literal["generation"]
    title: Line
    group: Id
    steps: list[Step] = Field(default=["first", "last"])


class SimilarityTable(Closed):
    """Similarity to the helper at the beginning and end of training."""

    kind: Literal["similarity"]
    title: Line
    groups: list[Id]


class PromptsTable(Closed):
    """The prompts in use."""

    kind: Literal["prompts"]
    title: Line
    tasks: list[Id]


class SignificanceTable(Closed):
    """Differences between runs of one group, with intervals and p-values.

    In a language: its multiple-choice tasks and their average; without: the generative tasks.
    """

    kind: Literal["significance"]
    title: Line
    group: Id
    language: Id | None = None
    step: Step = "last"
    against: Id | None = Field(default=None, description="one run of the group; none: all pairs")


class EfficiencyTable(Closed):
    """What base and adapted models cost on the same text (``evaluation.efficiency``)."""

    kind: Literal["efficiency"]
    title: Line
    group: Id
    #: Run ids beside the base model; none: the first scored run with another vocabulary.
    runs: list[Id] | None = None


Table = Annotated[
    ParametersTable
    | FertilityTable
    | TokenizersTable
    | ParityTable
    | MultipleChoiceTable
    | GenerationTable
    | SimilarityTable
    | PromptsTable
    | SignificanceTable
    | EfficiencyTable,
    Field(discriminator="kind"),
]


class FertilityFigure(Closed):
    """Distribution of fertility over documents."""

    kind: Literal["fertility"]
    title: Line


class TokenCountsFigure(Closed):
    """Tokens for parallel text, and characters per token, by tokenizer."""

    kind: Literal["token_counts"]
    title: Line


class AverageScoreFigure(Closed):
    """Average multiple-choice score of a group by step."""

    kind: Literal["average_score"]
    title: Line
    group: Id
    language: Id


class LossFigure(Closed):
    """Training loss of chosen runs by step."""

    kind: Literal["loss"]
    title: Line
    runs: list[Id]


class SimilarityFigure(Closed):
    """Similarity between the runs of a group after training."""

    kind: Literal["similarity"]
    title: Line
    group: Id


Figure = Annotated[
    FertilityFigure | TokenCountsFigure | AverageScoreFigure | LossFigure | SimilarityFigure,
    Field(discriminator="kind"),
]
