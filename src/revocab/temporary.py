"""Names of what is still being written: a file or folder has one until it is whole.

A name tells the host and the process that writes, so that what a killed process has left can be
told from what another one is writing now.
"""

from __future__ import annotations

import os
import re
import socket
import zlib
from pathlib import Path
from typing import Literal

#: ``.NAME.HOST-PROCESS.part``, as :func:`name_beside` makes it; ``old`` is a folder that is being
#: replaced. Without a process it waits for the next call of the same job.
TEMPORARY = re.compile(
    r"\.(?P<name>.+?)(\.(?P<host>[0-9a-f]{8})-(?P<process>\d+))?\.(?P<state>part|old)"
)


def host_mark() -> str:
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def name_beside(path: Path, state: Literal["part", "old"] = "part") -> Path:
    return path.with_name(f".{path.name}.{host_mark()}-{os.getpid()}.{state}")


def may_be_written(match: re.Match[str]) -> bool:
    """Return whether another process may be writing under a temporary name.

    One of another host may, since nobody can tell from here that it has ended.
    """
    if match["process"] is None:
        return False
    if match["host"] != host_mark():
        return True
    process = int(match["process"])
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # not ours to signal, but there
        pass
    return process != os.getpid()


def clear_files(path: Path) -> None:
    """Remove the files that ended processes of this host have left while they wrote ``path``."""
    for left in path.parent.glob(".*.part"):
        match = TEMPORARY.fullmatch(left.name)
        if match is None or match["name"] != path.name or match["process"] is None:
            continue
        if not may_be_written(match) and left.is_file() and not left.is_symlink():
            left.unlink(missing_ok=True)
