"""What `revocab verify` says to people: a line for each way to load a model, first differences."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.verify.comparing import Result
from revocab.verify.verify import Verified

#: Characters of a text that are shown.
SHOWN = 60


def page(verified: Verified) -> str:
    lines = [line for result in verified.results for line in lines_of(result)]
    verdict = "Something differs." if verified.differs else "Everything that was compared is equal."
    return "\n".join([f"{verified.model}: {'; '.join(verified.notes)}", *lines, verdict])


def lines_of(result: Result) -> Iterator[str]:
    if result.state in ("missing", "failed"):
        state = "not here: " if result.state == "missing" else "FAILED: "
        yield f"  {result.runtime:<14}{state}{result.about}"
        return
    counts = f"ids {result.same_ids:,}, decoded text {result.same_text:,} of {result.texts:,} equal"
    if result.logits is not None:
        counts += f"; logits differ by at most {result.logits:.2g} (allowed {result.allowed:.2g})"
    mark = "DIFFERENT: " if result.state == "different" else ""
    yield f"  {result.runtime:<14}{mark}{counts} ({result.about})"
    for difference in result.differences:
        text = difference.text
        yield f"    {text[:SHOWN]!r}{' …' * (len(text) > SHOWN)}, {difference.what} {difference.at}"
        yield f"      expected {difference.expected}"
        yield f"      received {difference.received}"
