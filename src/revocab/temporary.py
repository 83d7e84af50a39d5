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
#: replaced. Without a process it waits for the next call of the same job; earlier versions wrote no
#: host.
TEMPORARY = re.compile(
    r"\.(?P<name>.+?)(\.((?P<host>[0-9a-f]{8})-)?(?P<process>\d+))?\.(?P<state>part|old)"
)


def host_mark() -> str:
    """Return eight hexadecimal digits that stand for this host in names."""
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def name_beside(path: Path, state: Literal["part", "old"] = "part") -> Path:
    return path.with_name(f".{path.name}.{host_mark()}-{os.getpid()}.{state}")


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # not ours to signal, but there
        pass
    return True


def may_be_written(match: re.Match[str]) -> bool:
    """Return whether another process may be writing under a temporary name.

    One of another host may, since nobody can tell from here that it has ended.
    """
    process = int(match["process"] or 0)
    if match["host"] not in (None, host_mark()):
        return True
    return bool(process) and process != os.getpid() and is_alive(process)


def clear_files(path: Path) -> None:
    """Remove the files that ended processes of this host have left while they wrote ``path``."""
    for one in path.parent.glob(f".{_literal(path.name)}.*.part"):
        match = TEMPORARY.fullmatch(one.name)
        if match is None or match["name"] != path.name or match["host"] != host_mark():
            continue
        if not may_be_written(match) and one.is_file() and not one.is_symlink():
            one.unlink(missing_ok=True)


def _literal(name: str) -> str:
    """Return a file's name as a pattern of :meth:`Path.glob` that matches it alone."""
    return re.sub(r"([*?[])", r"[\1]", name)
