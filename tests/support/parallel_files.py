"""The files that ``config/overlays/nllb-files.yaml`` expects of a user, empty."""

from __future__ import annotations

from pathlib import Path

CODES = (
    "swh_Latn", "ind_Latn", "est_Latn", "hat_Latn", "kor_Hang", "ell_Grek", "rus_Cyrl", "bul_Cyrl",
    "ukr_Cyrl", "kaz_Cyrl",
)  # fmt: skip


def make_pairs(folder: Path) -> Path:
    """Make NLLB's files of English with each language in a folder; return it."""
    (folder / "nllb").mkdir(parents=True)
    for code in CODES:
        (folder / "nllb" / f"{'-'.join(sorted((code, 'eng_Latn')))}.tsv.gz").touch()
    return folder
