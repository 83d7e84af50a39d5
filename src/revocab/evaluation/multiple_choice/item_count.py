"""Whether a task's data is the version that its experiment means: by the number of its items."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from revocab.closed import Closed, Revision
from revocab.errors import RevocabError
from revocab.hub import dataset_rows
from revocab.io import read_jsonl
from revocab.limits import Count


class ExpectedItems(Closed):
    """How many rows a task's data must have, and which commit of a Hub data set has them."""

    number: Count = Field(description="number of rows that the scored split must have")
    revision: Revision | None = Field(
        default=None,
        description="commit expected to have them, named in the error if the data does not",
    )


def check_items(task: str, config: dict[str, Any], expected: ExpectedItems) -> None:
    """Raise :class:`RevocabError` where a task's data has another number of rows than expected.

    ``config`` is a task file's content, its Hub data set at a commit. The error names the data, the
    numbers found and expected, and the revision to use.
    """
    data, split = config["dataset_path"], config["test_split"]
    options = config["dataset_kwargs"]
    if data == "json":
        path = options["data_files"][split]
        number, where = sum(1 for _ in read_jsonl(path)), path
        advice = "use the file that the experiment means"
    else:
        commit = options["revision"]
        number = len(dataset_rows({"hub": data, **options, "commit": commit},
                                 config.get("dataset_name"), split))  # fmt: skip
        where = f"data set {data!r}, split {split!r}, at commit {commit}"
        if expected.revision and not commit.startswith(expected.revision):
            advice = f"write 'revision: {expected.revision}' under the task's data.hub"
        else:
            commits = f"https://huggingface.co/datasets/{data}/commits/main"
            advice = f"write its commit ({commits}) as 'revision' under the task's data.hub"
    if number != expected.number:
        raise RevocabError(
            f"task {task!r}: {where}, has {number:,} items, expected {expected.number:,}: another "
            f"version of the data; {advice}, or drop the task's 'items' to score these"
        )
