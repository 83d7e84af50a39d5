"""The repositories of ``config/vocadt.yaml`` for the Hub's cache.

Its ten languages beside English are the world's Italian in letters of their scripts.

    python tests/support/hub_vocadt.py HF_HOME
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import hub_content
import hub_harness
from hub_scripts import written_in

#: FLORES's name of a language, its script, and what sets it apart from others in that script.
LANGUAGES = {
    "sw": ("swh_Latn", "latin", 1), "id": ("ind_Latn", "latin", 2), "et": ("est_Latn", "latin", 3),
    "ht": ("hat_Latn", "latin", 4), "ko": ("kor_Hang", "hangul", 0), "el": ("ell_Grek", "greek", 0),
    "ru": ("rus_Cyrl", "cyrillic", 0), "bg": ("bul_Cyrl", "cyrillic", 1),
    "uk": ("ukr_Cyrl", "cyrillic", 2), "kk": ("kaz_Cyrl", "cyrillic", 3),
}  # fmt: skip
#: The released models: the languages that their vocabularies are for.
RELEASED = {
    "h-j-han/Mistral-7B-VocADT-50k-Latin": ("en", "sw", "id", "et", "ht"),
    "h-j-han/Mistral-7B-VocADT-50k-Mixed": ("en", "ko", "el", "ru", "bg"),
    "h-j-han/Mistral-7B-VocADT-50k-Cyrillic": ("en", "ru", "bg", "uk", "kk"),
}
#: Their first uploads, where known, which the experiment names; they were replaced later.
FIRST = {
    "h-j-han/Mistral-7B-VocADT-50k-Latin": "1c5b072",
    "h-j-han/Mistral-7B-VocADT-50k-Mixed": "67b0d17",
}
MISTRAL = "mistralai/Mistral-7B-v0.1"
VOCABULARY = 512
#: As many as a translation with its examples takes, in bytes where a model has no words.
CONTEXT = 4096
#: Rows of a split of a harness's data set: five examples, one of which may be the item itself.
ROWS = 7


def in_language(language: str) -> Callable[[str], str]:
    _, script, turned = LANGUAGES[language]
    return written_in(script, turned)


def texts_of(count: int) -> dict[str, list[str]]:
    from revocab.demoworld.build import documents
    from revocab.demoworld.stories import build

    world = build(hub_content.SEED)
    italian, english = (
        [row["text"] for row in documents(world, one, count, hub_content.SEED)]
        for one in ("it", "en")
    )
    return {"en": english} | {one: [*map(in_language(one), italian)] for one in LANGUAGES}


def madlad(root: Path, texts: dict[str, list[str]]) -> None:
    r"""Write clean and noisy documents, two files each, in which ``\n`` is two characters.

    As on https://huggingface.co/datasets/allenai/MADLAD-400, beside a loading script:
    ``data/<lang>/<lang>_clean_0000.jsonl.gz``; what is noisy is not to be read.
    """
    main = root / "datasets/allenai/MADLAD-400/main"
    for language, documents in texts.items():
        folder = main / "data" / language
        folder.mkdir(parents=True)
        for number in range(2):
            for kind, part in (("clean", documents[number::2]), ("noisy", ["raise"])):
                rows = [{"text": text.replace(". ", ".\\n", 1)} for text in part]
                lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
                path = folder / f"{language}_{kind}_{number:04}.jsonl.gz"
                path.write_bytes(gzip.compress(lines.encode(), mtime=0))
    (main / "MADLAD-400.py").write_text("raise SystemExit('never run')\n", encoding="utf-8")


def flores(root: Path, items: int) -> None:
    from revocab.demoworld.stories import build

    world = build(hub_content.SEED)
    english, italian = (hub_content.flores_rows(world, one, items) for one in ("en", "it"))
    sentences = {"eng_Latn": english}
    for language, (code, *_) in LANGUAGES.items():
        say = in_language(language)
        sentences[code] = {
            split: [(number, say(text)) for number, text in rows] for split, rows in italian.items()
        }
    hub_content.flores_200(root, sentences)


def nllb(root: Path, pairs: int = 60) -> None:
    """Write NLLB as the Hub converts it: a folder for each pair of codes, with the LASER score.

    https://huggingface.co/datasets/allenai/nllb: a loading script on main; the codes of a pair are
    in the order of the alphabet. Its converted rows could not be read: ASSUME the script's fields.
    """
    from revocab.demoworld.build import parallel
    from revocab.demoworld.stories import build

    main = root / "datasets/allenai/nllb"
    (main / "main").mkdir(parents=True)
    (main / "main/nllb.py").write_text("raise SystemExit('never run')\n", encoding="utf-8")
    texts = parallel(build(hub_content.SEED), pairs, hub_content.SEED, False)
    for language, (code, *_) in LANGUAGES.items():
        say = in_language(language)
        both = [{"eng_Latn": row["en"], code: say(row["it"])} for row in texts]
        rows = [{"translation": pair, "laser_score": 1 + n / 99} for n, pair in enumerate(both)]
        name = "-".join(sorted((code, "eng_Latn")))
        hub_content.parquet(main / f"refs%2Fconvert%2Fparquet/{name}/train/0000.parquet", rows)


def models(root: Path, texts: dict[str, list[str]]) -> None:
    """Write Mistral and the released models, in shards and with vocabularies of their own."""
    wanted = {MISTRAL: ("en",), **RELEASED}
    folders = hub_content.tokenizers(
        root / ".tokenizers",
        {
            name: ([text for one in of for text in texts[one]], "byte_fallback", VOCABULARY)
            for name, of in wanted.items()
        },
    )
    shape = {"family": "mistral", "width": 16, "context": CONTEXT, "sharded": True}
    for number, (name, folder) in enumerate(folders.items()):
        out = root / "models" / name
        hub_content.model(out / FIRST.get(name, "main"), folder, hub_content.SEED + number, **shape)
    shutil.rmtree(root / ".tokenizers")


def write_hub(root: Path, documents: int = 100) -> Path:
    texts = texts_of(documents)
    madlad(root, texts)
    flores(root, items=2)
    nllb(root)
    hub_harness.write_data_sets(root, hub_harness.MULTILINGUAL, ROWS)
    models(root, texts)
    return root


if __name__ == "__main__":
    hub_content.fill(write_hub)
