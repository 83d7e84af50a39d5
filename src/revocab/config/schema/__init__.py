"""The closed model of an experiment file: every key, its type, its default, and nothing else."""

from revocab.config.schema.base import Closed, Id, Line, Step, exactly_one
from revocab.config.schema.data import Corpus, HubPart, Source, Tokenizer, World
from revocab.config.schema.evaluation import (
    Evaluation,
    Fertility,
    Generation,
    GenerationTask,
    MultipleChoice,
    Similarity,
    Task,
)
from revocab.config.schema.experiment import Experiment
from revocab.config.schema.layout import (
    AverageScoreFigure,
    FertilityFigure,
    FertilityTable,
    Figure,
    GenerationTable,
    LossFigure,
    MultipleChoiceTable,
    ParametersTable,
    PromptsTable,
    SimilarityFigure,
    SimilarityTable,
    Table,
)
from revocab.config.schema.models import Architecture, Model, ParameterCount, Pretraining
from revocab.config.schema.recipes import Rates, Recipe, Stage
from revocab.config.schema.runs import AuxiliaryTraining, RunGroup, RunMethod, Scale

__all__ = [
    "Architecture",
    "AuxiliaryTraining",
    "AverageScoreFigure",
    "Closed",
    "Corpus",
    "Evaluation",
    "Experiment",
    "Fertility",
    "FertilityFigure",
    "FertilityTable",
    "Figure",
    "Generation",
    "GenerationTable",
    "GenerationTask",
    "HubPart",
    "Id",
    "Line",
    "LossFigure",
    "Model",
    "MultipleChoice",
    "MultipleChoiceTable",
    "ParameterCount",
    "ParametersTable",
    "Pretraining",
    "PromptsTable",
    "Rates",
    "Recipe",
    "RunGroup",
    "RunMethod",
    "Scale",
    "Similarity",
    "SimilarityFigure",
    "SimilarityTable",
    "Source",
    "Stage",
    "Step",
    "Table",
    "Task",
    "Tokenizer",
    "World",
    "exactly_one",
]
