"""Training documents: prose about the facts, everyday scenes, questions and answers, translations."""

from __future__ import annotations

import random
import re
from typing import Any

from revocab.world.asking import Asker
from revocab.world.passages import draw_passage, passage_rows
from revocab.world.scenes import SCENES, Draw
from revocab.world.template import render

LABELS = {"it": ("Contesto", "Domanda", "Risposta"), "en": ("Context", "Question", "Answer")}
INSTRUCTIONS = {
    "it": "Traduci dall'Inglese all'Italiano",
    "en": "Translate from Italian to English",
}
SENTENCE_END = re.compile(r"(?<=[.?!]) ")
#: Share of each kind of document.
KINDS = {
    "it": {"prose": 0.78, "questions": 0.14, "translation": 0.08},
    "en": {"prose": 0.86, "questions": 0.14},
}
#: What a prose document is about, and how often.
TOPICS = {
    "jobs": 4, "animals": 5, "tools": 6, "things": 4, "stuff": 4, "physics": 5, "body": 3,
    "places": 5, "towns": 3,
}  # fmt: skip
STORY_TOPICS = ("jobs", "animals", "tools", "physics", "places")
#: How often an everyday scene stands beside one fact, and beside several.
SCENE_SHARE = (0.3, 0.7)
QUESTION_FAMILIES = {"mmlu": 3, "arc_easy": 3, "sciq": 3, "piqa": 3, "boolq": 5, "passage": 3}


def build_document(asker: Asker, number: int, seed: int, reserved: frozenset[str]) -> dict[str, Any]:
    """Return document ``number``: {id, text, kind}; never with a text in ``reserved``."""
    language = asker.language
    choose = random.Random(f"{seed}/documents/{language}/{number}")
    kinds = KINDS[language]
    kind = choose.choices(list(kinds), list(kinds.values()))[0]
    writer = Writer(asker, choose, reserved)
    text = {"prose": writer.prose, "questions": writer.questions, "translation": writer.translation}[
        kind
    ]()
    return {"id": f"{language}-{number:06d}", "text": text, "kind": kind}


class Writer:
    """Writes one document with one source of chance."""

    def __init__(self, asker: Asker, choose: random.Random, reserved: frozenset[str]):
        self.asker, self.choose, self.reserved = asker, choose, reserved
        self.target = choose.randint(55, 115)

    # --- prose --------------------------------------------------------------------------------

    def prose(self) -> str:
        """Return sentences about one or two subjects, among everyday scenes."""
        sentences: list[str] = []
        words = 0
        while words < self.target:
            for sentence in self._paragraph():
                if not self._is_reserved(sentence):
                    sentences.append(sentence)
                    words += sentence.count(" ") + 1
                if words >= self.target:
                    break
        return " ".join(sentences)

    def _paragraph(self) -> list[str]:
        choose, asker = self.choose, self.asker
        topic = choose.choices(list(TOPICS), list(TOPICS.values()))[0]
        members = asker.knowledge.topics[topic]
        number = choose.randrange(len(members))
        slots = Draw(choose, asker.names)
        parts: list[str] = []
        # A story in place of the bare facts: what it needs to know cannot be copied from above.
        if topic in STORY_TOPICS and choose.random() < 0.4:
            story = asker.story(choose, topic, number)
            if story.context not in self.reserved:
                parts.append(f"{story.context} {story.answer}")
        else:
            facts = list(members[number].values())
            for fact in choose.sample(facts, min(3, len(facts))):
                asker.with_fact(slots, fact)
                parts.append(asker.render(choose.choice(fact.relation.told), slots))
        if choose.random() < SCENE_SHARE[len(members[number]) > 1]:
            scene = asker.render(choose.choice(SCENES), Draw(choose, asker.names, _cast(slots)))
            parts.insert(choose.randint(0, len(parts)), scene)
        return parts

    # --- questions and answers ----------------------------------------------------------------

    def questions(self) -> str:
        """Return blocks of one family in the prompt form of its task, blank lines between."""
        families = QUESTION_FAMILIES
        family = self.choose.choices(list(families), list(families.values()))[0]
        blocks: list[str] = []
        words = 0
        while words < self.target:
            block = self._passage_block() if family == "passage" else self._block(family)
            if block:
                blocks.append(block)
                words += block.count(" ") + 1
        return "\n\n".join(blocks)

    def _block(self, family: str) -> str | None:
        asked = self.asker.ask(family, self.choose, test=False)
        return self._labelled(asked.context, asked.question, asked.answer)

    def _passage_block(self) -> str | None:
        passage, slots = draw_passage(self.choose, self.asker.names)
        row = self.choose.choice(passage_rows(passage, slots, self.asker.language))
        return self._labelled(row["context"], row["question"], row["answers"][0])

    def _labelled(self, context: str, question: str, answer: str) -> str | None:
        if self._is_reserved(context) or self._is_reserved(question):
            return None
        labels = LABELS[self.asker.language]
        lines = [f"{labels[0]}: {context}"] if context else []
        return "\n".join([*lines, f"{labels[1]}: {question}", f"{labels[2]}: {answer}"])

    def _is_reserved(self, text: str) -> bool:
        """Return whether a text, or a sentence in it, belongs to a test set."""
        if text in self.reserved:
            return True
        return any(sentence in self.reserved for sentence in SENTENCE_END.split(text))

    # --- translations -------------------------------------------------------------------------

    def translation(self) -> str:
        """Return sentences with their translation: as a remark, or in the form of the prompt."""
        shape = self.choose.choice(("remark", "it", "en"))
        blocks: list[str] = [] if shape == "remark" else [INSTRUCTIONS[shape]]
        words = 0
        while words < self.target:
            italian, english = sentence_pair(self.asker, self.choose)
            if italian in self.reserved or english in self.reserved:
                continue
            if shape == "remark":
                block = self._remark(italian, english)
            else:
                first, second = (english, italian) if shape == "it" else (italian, english)
                block = f"Text: {first}\nTranslation: {second}"
            blocks.append(block)
            words += block.count(" ") + 1
        if shape == "remark":
            return " ".join(blocks)
        return "\n\n".join([f"{blocks[0]}\n{blocks[1]}", *blocks[2:]])

    def _remark(self, italian: str, english: str) -> str:
        shape = self.choose.randrange(3)
        if shape == 0:
            return f"La frase «{italian}» in inglese si dice «{english}»"
        if shape == 1:
            return f"In inglese «{english}» vuol dire «{italian}»"
        return f"{italian} In inglese: {english}"


def _cast(slots: Draw) -> dict[str, Any]:
    return {key: slots[key] for key in ("p", "t")}


def sentence_pair(asker: Asker, choose: random.Random) -> tuple[str, str]:
    """Return one sentence in Italian and in English, about a person drawn for it."""
    if choose.random() < 0.4:
        facts = choose.choice(list(asker.knowledge.by_relation.values()))
        fact = choose.choice(facts)
        slots = asker.slots(fact, choose)
        pair = choose.choice([pair for pair in fact.relation.told if "{p}" in pair[0]] or SCENES)
    else:
        slots = Draw(choose, asker.names)
        pair = choose.choice([pair for pair in SCENES if "{p}" in pair[0]])
    return render(pair[0], "it", slots), render(pair[1], "en", slots)
