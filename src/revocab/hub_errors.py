"""What went wrong at the Hub, in words that say what to do: absent, gated, offline, a script."""

from __future__ import annotations

import os
from collections.abc import Iterator

#: Errors of the layers below: `datasets`, the Hub's client, httpx and aiohttp under it.
LOST = frozenset(
    {"ConnectionError", "TransportError", "TimeoutError", "ClientError", "FSTimeoutError"}
)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def has_token() -> bool:
    from huggingface_hub import get_token

    return get_token() is not None


def explain_streamed(error: BaseException, repository: str, rows: int) -> str:
    names = {base.__name__ for cause in chain(error) for base in type(cause).__mro__}
    if not (rows and names & LOST):
        return explain(error, repository)
    return (
        f"dataset {repository!r}: the connection to the Hub was lost after {rows} rows and could"
        " not be restored; nothing was written: run the same command again"
    )


def explain(
    error: BaseException,
    repository: str,
    kind: str = "dataset",
    configuration: str | None = None,
) -> str:
    """Return one line on why ``repository`` could not be loaded, and the next step.

    ``kind`` is dataset or model, ``configuration`` that of a data set where one was asked for.
    """
    named = f"{kind} {repository!r}"
    if configuration is not None:
        named += f" (configuration {configuration!r})"
    errors = list(chain(error))
    names = {base.__name__ for cause in errors for base in type(cause).__mro__}
    text = " ".join(" ".join(str(cause).split()) for cause in errors)
    page = f"https://huggingface.co/{'datasets/' if kind == 'dataset' else ''}{repository}"
    if "GatedRepoError" in names or "is a gated dataset" in text:
        step = (
            "the token in use has no access: accept the terms there with its account"
            if has_token()
            else "accept its terms there and set HF_TOKEN (or run 'hf auth login')"
        )
        return f"{named} is gated: {page}; {step}"
    if "script" in text.lower() and "no longer supported" in text.lower():
        return (
            f"{named} is a loading script, which datasets >= 4 does not run; "
            "use 'revision: refs/convert/parquet' or a file"
        )
    offline = {"OfflineModeIsEnabled", "LocalEntryNotFoundError", "ConnectionError", "ConnectError"}
    if names & offline or os.environ.get("HF_HUB_OFFLINE") == "1":
        return (
            f"{named} is not in the cache and the Hub cannot be reached; load it "
            "once on a machine with network (HF_HOME names the cache), or unset HF_HUB_OFFLINE"
        )
    if names & {"RevisionNotFoundError"}:
        return f"{named} has no such revision; see {page}/tree/main"
    if names & {"DatasetNotFoundError", "RepositoryNotFoundError"}:
        hint = "" if has_token() else "; if it is private, set HF_TOKEN"
        return f"{named} does not exist on the Hub (renamed or removed?): {page}{hint}"
    reason = " ".join(str(error).split())[:300]
    return (
        f"{named} could not be loaded ({type(error).__name__}: {reason}); check "
        f"name, configuration, split and revision at {page}"
    )
