"""Types that kinds name in annotations alone: what they are made of is made of kinds itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Axes", "Experiment", "Figure", "Layout", "Results", "Run"]

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from revocab.experiment.expand import Run
    from revocab.experiment.layout import Layout
    from revocab.experiment.schema import Experiment
    from revocab.report.results.folder import Results
else:
    Axes = Figure = Run = Layout = Experiment = Results = Any
