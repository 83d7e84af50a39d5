"""Fills a folder for ``hub_cache``: pico models and tiny data sets under the names of sava.yaml.

The layouts are those of the real repositories: configurations in the card, converted branches
without a card, loading scripts on main, sharded weights. The contents are made by the demo's
generator and are synthetic.

    python tests/support/hub_content.py HF_HOME [--comet FOLDER]

FOLDER is what ``tests/support/comet_checkpoint.py FOLDER FacebookAI/xlm-roberta-large`` wrote, run
by the Python that has comet: a pico COMET-22 lies under the name of the released one, and its
encoder.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import hub_cache

Row = dict[str, Any]
PARQUET_BRANCH = "refs%2Fconvert%2Fparquet"
SEED = 17
#: Languages of FLORES by configuration.
FLORES = {"eng_Latn": "en", "ita_Latn": "it"}
#: The commit of facebook/flores with Parquet files by language (config/overlays/flores-200.yaml).
FLORES_200 = "994d4cd204c67acac0cdacb5cd9edcbc64de5c71"
#: Families, tokenizers and widths; two heads of 32, the least that vLLM has on a CPU.
MODELS = {
    "mistralai/Mistral-7B-v0.1": ("mistral", "english", 64),
    "meta-llama/Llama-3.1-8B": ("llama", "english-large", 64),
    "sapienzanlp/Minerva-3B-base-v1.0": ("mistral", "bilingual", 64),
    "sapienzanlp/Minerva-1B-base-v1.0": ("mistral", "bilingual", 12),
    "sapienzanlp/Minerva-350M-base-v1.0": ("mistral", "bilingual", 8),
}
#: Adapted models that SAVA's authors published: their tokenizers. Ids and hyphens as on stored
#: pages of the Hub (huggingface.co/SemanticAlignment).
RELEASED = {
    **{f"Mistral-v0.1-Italian-{one}": "bilingual" for one in ("Random", "FVT", "CLP", "SAVA")},
    "Mistral-v0.1-Italian-LAPT": "english",
    "Llama-3-1-8B-Italian-FVT": "bilingual",
    "Llama-3.1-8B-Italian-SAVA": "bilingual",
    "Llama-3.1-8B-Italian-LAPT": "english-large",
}
MODELS |= {
    f"SemanticAlignment/{name}": ("llama" if name[0] == "L" else "mistral", tokenizer, 64)
    for name, tokenizer in RELEASED.items()
}
#: A prompt of 2,048 tokens, as in the release of SAVA, and its answer fit, in bytes too.
CONTEXT_LENGTH = 4096
COMET = "Unbabel/wmt22-comet-da"
COMET_ENCODER = "FacebookAI/xlm-roberta-large"


def parquet(path: Path, rows: Iterable[Row]) -> None:
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)


def jsonl_zst(path: Path, rows: Iterable[Row]) -> None:
    import pyarrow

    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pyarrow.compress(text.encode(), codec="zstd", asbytes=True))


def card(folder: Path, configs: dict[str, dict[str, str]]) -> None:
    """Write a data set's card: its configurations, and for each split its files."""
    lines = ["---", "configs:"]
    for name, splits in configs.items():
        lines += [f"- config_name: {name}", "  data_files:"]
        for split, path in splits.items():
            lines += [f"  - split: {split}", f"    path: {path}"]
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join([*lines, "---", "# Synthetic stand-in", ""])
    (folder / "README.md").write_text(text, encoding="utf-8")


def data_set(folder: Path, configs: dict[str, dict[str, list[Row]]]) -> None:
    """Write a data set with a card: ``<config>/<split>-00000-of-00001.parquet``."""
    paths = {
        name: {split: f"{name}/{split}-*" for split in splits} for name, splits in configs.items()
    }
    card(folder, paths)
    for name, splits in configs.items():
        for split, rows in splits.items():
            parquet(folder / name / f"{split}-00000-of-00001.parquet", rows)


def converted(repository: Path, script: str, configs: dict[str, dict[str, list[Row]]]) -> None:
    """Write a data set that is a loading script on main and Parquet files on a branch."""
    (repository / "main").mkdir(parents=True)
    (repository / "main" / script).write_text("raise SystemExit('never run')\n", encoding="utf-8")
    (repository / "main/README.md").write_text("---\nlanguage: [it]\n---\n", encoding="utf-8")
    for name, splits in configs.items():
        for split, rows in splits.items():
            parquet(repository / PARQUET_BRANCH / name / split / "0000.parquet", rows)


def culturax(root: Path, texts: dict[str, list[str]]) -> None:
    """Write CulturaX with texts by language.

    As on https://huggingface.co/datasets/uonlp/CulturaX: a configuration per language,
    ``it/it_part_00000.parquet``, fields text, timestamp, url and source.
    """
    main = root / "datasets/uonlp/CulturaX/main"
    card(main, {one: {"train": f"{one}/*.parquet"} for one in texts})
    for language, documents in texts.items():
        half = len(documents) // 2
        for number, part in enumerate((documents[:half], documents[half:])):
            shard = f"{language}/{language}_part_{number:05d}.parquet"
            pages = [{"text": text, "url": f"https://x.example/{n}"} for n, text in enumerate(part)]
            parquet(main / shard, pages)


def wikipedia(root: Path, world: Any, documents: int) -> None:
    """Write Wikipedia in both languages of the world.

    As on https://huggingface.co/datasets/wikimedia/wikipedia: ``20231101.it/train-…``; id, url,
    title, text.
    """
    from revocab.demoworld.build import documents as make

    main = root / "datasets/wikimedia/wikipedia/main"
    names = {one: f"20231101.{one}" for one in ("it", "en")}
    card(main, {name: {"train": f"{name}/train-*"} for name in names.values()})
    for language, name in names.items():
        articles = make(world, language, documents, SEED + 1)
        parquet(
            main / name / "train-00000-of-00001.parquet",
            ({"id": row["id"], "title": row["id"], "text": row["text"]} for row in articles),
        )


def corpora(root: Path, world: Any, documents: int) -> dict[str, list[str]]:
    """Write CulturaX and Wikipedia; return CulturaX's texts by language."""
    from revocab.demoworld.build import documents as make

    texts = {
        language: [row["text"] for row in make(world, language, documents, SEED)]
        for language in ("it", "en")
    }
    culturax(root, texts)
    wikipedia(root, world, documents // 4)
    return texts


def flores_rows(world: Any, language: str, items: int) -> dict[str, list[tuple[int, str]]]:
    from revocab.demoworld.build import parallel

    counts = {"dev": (12, False), "devtest": (items, True)}
    return {
        split: [(n, row[language]) for n, row in enumerate(parallel(world, count, SEED, test))]
        for split, (count, test) in counts.items()
    }


def flores_plus(root: Path, world: Any, items: int) -> None:
    """Write FLORES+: a configuration per language, a file per split and language.

    Fields and files as on https://huggingface.co/datasets/openlanguagedata/flores_plus (card and
    tree).
    """
    main = root / "datasets/openlanguagedata/flores_plus/main"
    splits = ("dev", "devtest")
    card(main, {code: {one: f"{one}/{code}.parquet" for one in splits} for code in FLORES})
    for code, language in FLORES.items():
        alphabet = {"iso_639_3": code[:3], "iso_15924": code[4:], "glottocode": "none0000"}
        for split, sentences in flores_rows(world, language, items).items():
            rows = [{"id": n, **alphabet, "text": text, "topic": "x"} for n, text in sentences]
            # The order of the languages differs, so that only a join by id keeps pairs together.
            parquet(main / f"{split}/{code}.parquet", rows if language == "en" else rows[::-1])


def flores_200(root: Path, sentences: dict[str, dict[str, list[tuple[int, str]]]]) -> None:
    """Write FLORES-200, of sentences by configuration and split as ``flores_rows`` returns them.

    A loading script on main, and a commit with Parquet files by language.
    https://huggingface.co/datasets/facebook/flores: its card lists the fields, flores.py the
    configurations by language and by pair; the tree of commit 994d4cd has ``eng_Latn/``, with
    files such as ``dev-00000-of-00001.parquet``. Whether the script is still beside them is not
    known: here it is, which is the harder case.
    """
    repository = root / "datasets/facebook/flores"
    for ref in ("main", FLORES_200):
        (repository / ref).mkdir(parents=True)
        (repository / ref / "flores.py").write_text("raise SystemExit('never run')\n")
        (repository / ref / "README.md").write_text("---\nlanguage: [it]\n---\n")
    for code, splits in sentences.items():
        for split, texts in splits.items():
            rows = [{"id": n, "URL": "x", "sentence": text} for n, text in texts]
            name = f"{FLORES_200}/{code}/{split}-00000-of-00001.parquet"
            parquet(repository / name, rows)


def generative_benchmarks(root: Path, world: Any, items: int) -> None:
    """Write FLORES in both homes, and SQuAD-it.

    SQuAD-it as on https://huggingface.co/datasets/crux82/squad_it: Parquet on main, one
    configuration, fields in its card.
    """
    from revocab.demoworld.build import question_rows

    flores_plus(root, world, items)
    flores_200(root, {code: flores_rows(world, one, items) for code, one in FLORES.items()})

    def squad(count: int, test: bool) -> list[Row]:
        return [
            {
                "id": row["id"],
                "context": row["context"],
                "question": row["question"],
                "answers": {"text": row["answers"], "answer_start": [0] * len(row["answers"])},
            }
            for row in question_rows(world, "it", count, SEED, test)
        ]

    main = root / "datasets/crux82/squad_it/main"
    card(main, {"default": {one: f"data/{one}-*" for one in ("train", "test")}})
    for split, rows in {"train": squad(12, False), "test": squad(items, True)}.items():
        parquet(main / f"data/{split}-00000-of-00001.parquet", rows)


def tokenizers(root: Path, wanted: dict[str, tuple[list[str], str, int]]) -> dict[str, Path]:
    """Train tokenizers, given by name: texts, alphabet, size. Return their folders."""
    from revocab.vocabulary.building.constructions.train import train_tokenizer
    from revocab.vocabulary.building.training_text import batched
    from revocab.vocabulary.tokenizers.alphabets import frequent_characters
    from revocab.vocabulary.tokenizers.load import write_tokenizer

    folders = {}
    for name, (documents, alphabet, size) in wanted.items():
        characters = frequent_characters(documents, 80) if alphabet == "byte_fallback" else None
        tokenizer = train_tokenizer(batched(documents), alphabet, size, characters)
        folders[name] = root / name
        write_tokenizer(tokenizer, folders[name])
    return folders


def model(
    out: Path,
    tokenizer: Path,
    seed: int,
    *,
    family: str,
    width: int,
    layers: int = 1,
    sharded: bool = False,
    context: int = CONTEXT_LENGTH,
) -> None:
    """Write a model's repository, with files beside the weights that must not be fetched."""
    from transformers import AutoModelForCausalLM

    from revocab.models.parameters import Architecture, build_stand_in

    shape = {"hidden_size": width, "intermediate_size": 2 * width, "layers": layers}
    architecture = Architecture(family=family, heads=2, kv_heads=1, **shape)
    build_stand_in(tokenizer, architecture, context, seed, out)
    (out / "manifest.json").unlink()
    if sharded:
        weights = AutoModelForCausalLM.from_pretrained(out)
        (out / "model.safetensors").unlink()
        weights.save_pretrained(out, max_shard_size="20KB")
    (out / "original").mkdir()
    (out / "original/params.json").write_text("{}", encoding="utf-8")
    (out / "pytorch_model.bin").write_bytes(b"a pickle that nothing reads")


def models(root: Path, folders: dict[str, Path]) -> None:
    """Write the paper's models; the first and the released ones sharded, as large models are."""
    for number, (name, (family, tokenizer, width)) in enumerate(MODELS.items()):
        sharded = number == 0 or "Italian" in name
        out, seed = root / "models" / name / "main", SEED + number
        model(out, folders[tokenizer], seed, family=family, width=width, sharded=sharded)


def comet(root: Path, made: Path) -> None:
    """Lay out a COMET checkpoint as the Hub has it, and apart from it the encoder that it names."""
    out = root / "models" / COMET / "main"
    shutil.copytree(made / "comet22", out)
    (out / "README.md").write_text("---\nlicense: apache-2.0\n---\n", encoding="utf-8")
    shutil.copytree(made / "encoder", root / "models" / COMET_ENCODER / "main")


def write_hub(
    root: Path, *, documents: int = 400, items: int = 4, comet_folder: Path | None = None
) -> Path:
    """Fill ``root``; ``items`` per benchmark (per subject of MMLU) and split. Return it."""
    import hub_itabench

    from revocab.demoworld.stories import build

    root = Path(root)
    world = build(SEED)
    texts = corpora(root, world, documents)
    hub_itabench.itabench(root, world, items, SEED)
    generative_benchmarks(root, world, items)
    # As different as the tokenizers of the three families.
    wanted = {
        "english": (texts["en"], "byte_fallback", 512),
        "english-large": (texts["en"], "byte_level", 640),
        "bilingual": (texts["it"] + texts["en"], "byte_fallback", 576),
    }
    folders = tokenizers(root / ".tokenizers", wanted)
    models(root, folders)
    shutil.rmtree(root / ".tokenizers")
    if comet_folder:
        comet(root, comet_folder)
    return root


def fill(write: Callable[..., Path]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("home", type=Path, help="HF_HOME")
    parser.add_argument("--comet", type=Path, dest="comet_folder", help="pico COMET models")
    options = vars(parser.parse_args())
    home = options.pop("home")
    with tempfile.TemporaryDirectory() as root:
        write(Path(root), **{key: value for key, value in options.items() if value})
        hub_cache.fill_cache(Path(root), home)


if __name__ == "__main__":
    fill(write_hub)
