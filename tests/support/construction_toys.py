"""Small corpora and base tokenizers of every family that constructions change."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

from jobs import job_of

from revocab.corpora.prepare import CorpusJob, prepare_corpus
from revocab.demoworld.build import documents
from revocab.demoworld.stories import build
from revocab.vocabulary.building.construction import BuildInputs, TokenizerJob, build_tokenizer
from revocab.vocabulary.building.constructions.train import train_tokenizer
from revocab.vocabulary.building.training_text import TrainingText, batched
from revocab.vocabulary.tokenizers.alphabets import frequent_characters
from revocab.vocabulary.tokenizers.load import load_tokenizer

WORLD = build(17)
ENGLISH = [one["text"] for one in documents(WORLD, "en", 120, 17)] + [
    f"The {who} {does} the {what}, and {ending}"
    for who, does, what, ending in product(
        ["children", "old teacher", "doctors", "neighbour's dog", "naïve painter"],
        ["finds", "is looking for", "can't see", "bought"],
        ["book", "blue house", "bridge over the river", "café", "garden"],
        ["it's late.", "nobody knows why!", "in 1984 it rained.\nThen it stopped."],
    )
]
ITALIAN = [one["text"] for one in documents(WORLD, "it", 120, 17)] + [
    f"{who} {does} {what}; {ending}"
    for who, does, what, ending in product(
        ["I bambini", "La maestra", "L'onorevole", "Perché i medici", "Il Consiglio"],
        ["cercano", "ha già visto", "comprerà", "dell'università, costruiscono"],
        ["la città più bella", "un libro", "il ponte sul fiume", "le proposte"],
        ["è tardi.", "nessuno sa perché!", "nel 1984 pioveva.\n\tPoi no — «così»."],
    )
]
GREEK = [
    f"{who} {does}, {ending} 😀"
    for who, does, ending in product(
        ["Η πόλη", "Ο δάσκαλος", "Τα παιδιά"], ["βλέπει", "είδε"], ["σήμερα.", "χθες!"]
    )
] * 3
TEXTS = {"en": ENGLISH, "it": ITALIAN, "el": ITALIAN + GREEK * 4}
FAMILIES = ("byte_fallback", "byte_level", "mistral", "llama", "unigram")


def prepared(folder: Path) -> dict[str, Path]:
    for name, texts in TEXTS.items():
        rows = [{"text": f"{text} {number % 7}"} for number, text in enumerate(texts)]
        prepare_corpus(rows, {"label": name}, CorpusJob(corpus=name, language=name), folder / name)
    return {name: folder / name for name in TEXTS}


def mixture(folders: dict[str, Path], **shares: float) -> list[TrainingText]:
    return [TrainingText(name, share, folders[name]) for name, share in shares.items()]


def edited(tokenizer, folder: Path, **changes) -> Path:
    """Save a tokenizer with other values in its ``tokenizer.json`` (dotted as ``model__vocab``)."""
    tokenizer.save_pretrained(folder)
    state = json.loads((folder / "tokenizer.json").read_text())
    for name, value in changes.items():
        place = state
        *way, last = name.split("__")
        for part in way:
            place = place[part]
        place[last] = value
    (folder / "tokenizer.json").write_text(json.dumps(state))
    return folder


def like_mistral(tokenizer, folder: Path) -> Path:
    """No word splitter: merges alone keep words apart, as in files converted from SentencePiece."""
    return edited(tokenizer, folder, pre_tokenizer=None)


def like_llama(tokenizer, folder: Path) -> Path:
    """Special tokens behind the vocabulary and outside of the model, whole words taken at once."""
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    count = len(tokenizer)
    vocabulary = {
        token: number - 2 for token, number in state["model"]["vocab"].items() if number > 1
    }
    added = [{**one, "id": count - 2 + place} for place, one in enumerate(state["added_tokens"])]
    processor = state["post_processor"]
    for one in processor["special_tokens"].values():
        one["ids"] = [count - 2]
    return edited(
        tokenizer,
        folder,
        model__vocab=vocabulary,
        model__ignore_merges=True,
        added_tokens=added,
        post_processor=processor,
    )


def base_tokenizers(folder: Path) -> dict[str, Path]:
    """Return a base of each family, trained on English."""
    letters = frequent_characters(ENGLISH, 60)
    bases = {}
    for name, alphabet, model, size in (
        ("byte_fallback", "byte_fallback", "bpe", 640),
        ("byte_level", "byte_level", "bpe", 600),
        ("unigram", "byte_fallback", "unigram", 600),
    ):
        made = train_tokenizer(batched(ENGLISH), alphabet, size, letters, model=model)
        made.save_pretrained(folder / name)
        bases[name] = folder / name
    bases["mistral"] = like_mistral(load_tokenizer(bases["byte_fallback"]), folder / "mistral")
    bases["llama"] = like_llama(load_tokenizer(bases["byte_level"]), folder / "llama")
    return bases


def change(name, base: Path, mixtures, out: Path, donor: Path | None = None, **options):
    folders = {"base": base} if donor is None else {"base": base, "donor": donor}
    return construct(name, inputs_of(mixtures, **folders), out, **options)


def inputs_of(mixtures, **folders: Path) -> BuildInputs:
    tokenizers = {role: load_tokenizer(folder) for role, folder in folders.items()}
    return BuildInputs(mixtures, tokenizers, folders)


def construct(name, inputs: BuildInputs, out: Path, **options):
    return build_tokenizer(job_of(TokenizerJob, construction=name, **options), inputs, out)


def build_trained(mixture, alphabet, vocabulary_size, out: Path, limit_bytes=None, **options):
    options |= {"vocabulary_size": vocabulary_size, "limit_bytes": limit_bytes}
    inputs = BuildInputs({"corpora": mixture})
    return construct("train", inputs, out, alphabet=alphabet, **options)


def build_copied(folder: Path, out: Path):
    return construct("substitute", BuildInputs(places={"path": folder}), out)
