"""From a seed to files: documents, parallel sentences, passages, items, blind baselines."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from revocab.closed import Closed, Job
from revocab.demoworld import BASELINES, FAMILIES
from revocab.demoworld.items import conversations, family_items, passages
from revocab.demoworld.lexicon import Text
from revocab.demoworld.stories import World, build, description, portrait, story
from revocab.io import sha256, write_json, write_jsonl
from revocab.limits import GENERATED, Seed
from revocab.output import OutputFolder

LANGUAGES = ("it", "en")
ASK = {"it": ("Contesto", "Domanda", "Risposta"), "en": ("Context", "Question", "Answer")}
#: How a translation is asked for, by its languages.
TRANSLATING = {
    "en-it": "Traduci dall'Inglese all'Italiano",
    "it-en": "Translate from Italian to English",
}
#: Kinds of document and their shares; the Italian side also holds translations.
SHARES = {
    "story": 34,
    "description": 12,
    "portrait": 12,
    "questions": 28,
    "passage": 6,
    "bilingual": 8,
}
#: Train items of the families without facts, whose supply is endless.
SCENES = {"hellaswag": 200, "piqa": 200, "boolq": 300}


def with_answer(row: dict[str, Any], language: str, answer: str) -> str:
    context, question, reply = ASK[language]
    lines = [f"{context}: {row['context']}"] if row.get("context") else []
    return "\n".join([*lines, f"{question}: {row['question']}", f"{reply}: {answer}"])


def translated(sentence: Text, direction: str) -> str:
    source, target = direction.split("-")
    return f"{TRANSLATING[direction]}\nText: {sentence[source]}\nTranslation: {sentence[target]}"


def question_pool(world: World, language: str, seed: int) -> list[str]:
    pool = []
    for family in FAMILIES:
        count = SCENES.get(family, 1000)
        for row in family_items(world, family, language, count, seed, test=False):
            answer = row["choices"][row["answer"]]
            scene = family == "hellaswag"
            pool.append(
                f"{row['context']} {answer}" if scene else with_answer(row, language, answer)
            )
    return pool


def documents(world: World, language: str, count: int, seed: int) -> Iterator[dict[str, Any]]:
    draw = random.Random(f"documents-{language}-{seed}")
    pool = question_pool(world, language, seed)
    kinds, weights = zip(*SHARES.items(), strict=True)
    for number in range(count):
        kind = draw.choices(kinds, weights)[0]
        if kind == "bilingual" and language == "en":
            kind = "story"
        if kind == "questions":
            text = "\n\n".join(draw.sample(pool, 5))
        elif kind == "passage":
            rows = [passages(world, draw, language) for _ in range(2)]
            text = "\n\n".join(with_answer(row, language, row["answers"][0]) for row in rows)
        elif kind == "bilingual":
            direction = draw.choice([*TRANSLATING])
            sentences = draw.sample(story(world, draw), 4)
            text = "\n\n".join(translated(sentence, direction) for sentence in sentences)
        else:
            tell = {"story": story, "description": description, "portrait": portrait}[kind]
            text = " ".join(sentence[language] for sentence in tell(world, draw))
        yield {"id": f"{language}-{number:06d}", "kind": kind, "text": text}


def parallel(world: World, count: int, seed: int, test: bool) -> list[dict[str, Any]]:
    """Return distinct sentence pairs; the test side is about people of the test side only."""
    draw = random.Random(f"parallel-{seed}-{test}")
    about = {person.name for person in world.side(test)}
    sentences: dict[str, Text] = {}
    while len(sentences) < count:
        for sentence in story(world, draw, test)[:5]:
            if about & set(sentence["it"].replace(",", "").replace(".", "").split()):
                sentences[sentence["it"]] = sentence
    return [
        {"id": f"parallel-{number:05d}", **sentence}
        for number, sentence in enumerate(list(sentences.values())[:count])
    ]


def question_rows(
    world: World, language: str, count: int, seed: int, test: bool
) -> list[dict[str, Any]]:
    draw = random.Random(f"passages-{language}-{seed}-{test}")
    return [
        {"id": f"question-{number:05d}", **passages(world, draw, language, test)}
        for number in range(count)
    ]


class WorldOptions(Closed):
    """Size of the generated bilingual world."""

    #: Another seed makes another world.
    seed: Seed = 17
    documents: Annotated[int, Field(ge=10), GENERATED] = Field(description="documents per language")
    parallel: Annotated[int, Field(ge=20), GENERATED] = Field(
        description="sentence pairs, a quarter of them for testing"
    )
    questions: Annotated[int, Field(ge=20), GENERATED] = Field(
        description="passages with questions, a quarter of them for testing"
    )
    items: Annotated[int, Field(ge=4), GENERATED] = Field(
        description="test items per family and language"
    )
    conversations: Annotated[int, Field(ge=0), GENERATED] = Field(
        default=0, description="per language, a quarter of them test; none: no such files"
    )


class WorldJob(WorldOptions, Job):
    """One world to build."""


def blind_baselines(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the accuracy of guessing the longest, the shortest, and the commonest position. Beside
    ``items`` and ``chance``, the accuracy of drawing one of an item's choices.
    """
    total = len(rows)
    longest = shortest = 0
    for row in rows:
        lengths = list(map(len, row["choices"]))
        longest += lengths.index(max(lengths)) == row["answer"]
        shortest += lengths.index(min(lengths)) == row["answer"]
    position = Counter(row["answer"] for row in rows).most_common(1)[0][1]
    return {
        "items": total,
        "chance": sum(1 / len(row["choices"]) for row in rows) / total,
        "longest": longest / total,
        "shortest": shortest / total,
        "majority_position": position / total,
    }


def write_world(out: Path, options: WorldOptions) -> None:
    """Write the world's folder; a quarter of pairs, questions, conversations is the test side."""
    seed, questions, items = options.seed, options.questions, options.items
    world, baselines = build(seed), {}
    with OutputFolder(out, "demo world").replaced() as folder:
        for language in LANGUAGES:
            texts = documents(world, language, options.documents, seed)
            write_jsonl(folder / f"documents.{language}.jsonl.gz", texts)
            for part, share in (("train", 0.75), ("test", 0.25)):
                rows = question_rows(world, language, int(questions * share), seed, part == "test")
                write_jsonl(folder / f"questions.{language}.{part}.jsonl.gz", rows)
                if options.conversations:
                    number = int(options.conversations * share)
                    talk = conversations(world, language, number, seed, test=part == "test")
                    write_jsonl(folder / f"conversations.{language}.{part}.jsonl.gz", talk)
            for family in FAMILIES:
                rows = family_items(world, family, language, items, seed, test=True)
                write_jsonl(folder / f"{family}.{language}.jsonl.gz", rows)
                baselines[f"{family}_{language}"] = blind_baselines(rows)
        for part, share in (("train", 0.75), ("test", 0.25)):
            rows = parallel(world, int(options.parallel * share), seed, part == "test")
            write_jsonl(folder / f"parallel.{part}.jsonl.gz", rows)
        write_json(folder / BASELINES, baselines)
        files = {path.name: sha256(path) for path in sorted(folder.glob("*.jsonl.gz"))}
        write_json(folder / "manifest.json", {"seed": seed, "files": files})
