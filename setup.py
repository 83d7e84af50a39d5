"""Build the wheel with the workflow in it: pyproject.toml has no words for files beside ``src``."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

#: What ``revocab run`` reads of a checkout; revocab.extensions finds it in the package.
PARTS = ("Snakefile", "workflow", "profiles", "envs")


class BuildWithWorkflow(build_py):
    """Copies the workflow into the package, unless it is installed as a link to the checkout."""

    def workflow_files(self) -> dict[str, str]:
        """Return the files by where they go."""
        files = [file for part in map(Path, PARTS) for file in (part, *part.rglob("*"))]
        kept = [file for file in files if file.is_file() and "__pycache__" not in file.parts]
        return {str(Path(self.build_lib, "revocab/dag", file)): str(file) for file in kept}

    def run(self) -> None:
        super().run()
        for place, file in {} if self.editable_mode else self.workflow_files().items():
            self.mkpath(str(Path(place).parent))
            self.copy_file(file, place, preserve_mode=False)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), *self.workflow_files()]

    def get_source_files(self) -> list[str]:
        return [*super().get_source_files(), *self.workflow_files().values()]


setup(cmdclass={"build_py": BuildWithWorkflow})
