"""Where the files of the workflow lie: in the checkout of the package, or in the package itself.

``setup.py`` puts them into the wheel, so that an experiment runs in any folder.
"""

from __future__ import annotations

from pathlib import Path

from revocab.extensions import PACKAGE
from revocab.rule import near


def workflow_folder() -> Path:
    checkout = PACKAGE.parents[1]
    return checkout if (checkout / "Snakefile").is_file() else PACKAGE / "dag"


def job_script() -> str:
    """Return the script that Python runs for each job; a command's name and arguments follow."""
    return near(workflow_folder() / "scripts/run_job.py")


def own_or_shipped(path: Path) -> Path:
    """Return a file or folder of the working folder, or the shipped one where there is no such."""
    shipped = workflow_folder() / path
    return shipped if shipped.exists() and not path.exists() else path
