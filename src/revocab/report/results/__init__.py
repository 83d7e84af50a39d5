"""What a results folder holds, read as data: scores, losses, means over seeds, comparisons."""

from revocab.io import number
from revocab.report.results.folder import BY_CORPUS, PARALLEL, Results, files_read
from revocab.report.results.scores import Record, Scores

__all__ = ["BY_CORPUS", "PARALLEL", "Record", "Results", "Scores", "files_read", "number"]
