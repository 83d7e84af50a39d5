"""What a statement measures: one number, from printed values and from our results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from revocab.closed import Closed

if TYPE_CHECKING:
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment
    from revocab.report.results import Results


def lead(ours: Sequence[float | None], others: Sequence[float | None]) -> float | None:
    """Return by how much the least of ours is above the greatest of others; None without one."""
    known = [value for value in ours if value is not None]
    against = [value for value in others if value is not None]
    if len(known) < len(ours) or len(against) < len(others):
        return None
    return min(known) - max(against)


class Measure(Closed):
    """What a claim is about; the hooks say nothing where a measure has nothing to say."""

    #: Whether it follows from names and sizes, so that a smaller run tests it as well.
    any_scale: ClassVar[bool] = False

    def published(self, results: Results) -> float | None:
        """Return the number that the paper's printed values give, None where they give none."""
        return None

    def ours(self, results: Results) -> float | None:
        """Return the number that our results give, None where it is not measured."""
        return None

    def shown(self, value: float) -> str:
        """Return a number as readers see it."""
        return f"{value:,.10g}"

    def remark(self, results: Results) -> str:
        """Return what stands behind our number."""
        return ""

    def problems(self, experiment: Experiment, key: str) -> Iterable[str]:
        """Yield what the experiment lacks for it."""
        return ()

    def needs(self, layout: Layout) -> Iterable[str]:
        """Return the files that it reads beside the scores."""
        return ()

    def scores(self, experiment: Experiment) -> Iterable[tuple[str, str]]:
        """Yield the groups and tasks whose scores it reads."""
        return ()
