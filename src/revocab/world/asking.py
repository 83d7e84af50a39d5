"""Questions about facts, in the shape of each family, for test items and training documents alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from revocab.world.knowledge import Fact, Knowledge
from revocab.world.names import Names
from revocab.world.scenes import SCENES, Draw
from revocab.world.stories import STORIES, Story
from revocab.world.template import render

FAMILIES = ("hellaswag", "mmlu", "arc_easy", "piqa", "sciq", "boolq")
YES_NO = {"it": ("no", "sì"), "en": ("no", "yes")}
CHOICES = {"hellaswag": 4, "mmlu": 4, "arc_easy": 4, "piqa": 2, "sciq": 4, "boolq": 2}
#: Scenes with a person, after whom no two contexts are alike.
PERSONAL_SCENES = tuple(pair for pair in SCENES if "{p}" in pair[0])
#: Who asks: so that one question can be asked in many ways.
ASKING = (
    ("{p} vive {ad t} e vuole sapere una cosa.", "{p} lives in {t} and wants to know something."),
    ("{ad t} {p} chiede a {q}:", "In {t} {p} asks {q}:"),
)


@dataclass(frozen=True)
class Asked:
    """A question with its right answer and the wrong ones to choose from."""

    question: str
    answer: str
    wrong: tuple[str, ...]
    context: str = ""
    subject: str = ""


class Asker:
    """Asks about the facts of one world in one language; all chance comes from ``choose``."""

    def __init__(self, knowledge: Knowledge, names: Names, language: str):
        self.knowledge, self.names, self.language = knowledge, names, language
        self._side = language == "en"
        self._facts = {
            (family, test): knowledge.facts_for(family, test)
            for family in FAMILIES
            for test in (False, True)
        }

    def slots(self, fact: Fact, choose: random.Random) -> Draw:
        """Return the words that tell a fact, with a person of the subject's gender."""
        slots = Draw(choose, self.names)
        return self.with_fact(slots, fact)

    @staticmethod
    def with_fact(slots: Draw, fact: Fact) -> Draw:
        """Put the words of a fact into ``slots``."""
        slots["s"] = fact.subject_for(slots["p"].gender)
        slots["o"] = fact.object
        if fact.circumstance is not None:
            slots["c"] = fact.circumstance
        return slots

    def render(self, pair: tuple[str, str], slots: Any, *, capital: bool = True) -> str:
        """Render this language's side of a template pair."""
        return render(pair[self._side], self.language, slots, capital=capital)

    def ask(self, family: str, choose: random.Random, *, test: bool) -> Asked:
        """Return a question of a family about a held-out (``test``) or an open fact."""
        if family == "hellaswag":
            return self.story(choose)
        fact = choose.choice(self._balanced(family, choose, test))
        shapes: dict[str, Callable[[Fact, random.Random], Asked]] = {
            "mmlu": self._plain,
            "arc_easy": self._plain,
            "sciq": self._supported,
            "piqa": self._goal,
            "boolq": self._polar,
        }
        return shapes[family](fact, choose)

    def _balanced(self, family: str, choose: random.Random, test: bool) -> list[Fact]:
        facts = self._facts[family, test]
        relation = choose.choice(sorted({fact.relation.name for fact in facts}))
        return [fact for fact in facts if fact.relation.name == relation]

    def _answers(self, fact: Fact, slots: Draw, pair: tuple[str, str]) -> tuple[str, list[str]]:
        right = self.render(pair, slots, capital=False)
        wrong = []
        for other in self.knowledge.alternatives(fact):
            words = {**slots, "s": other.subject_for(slots["p"].gender), "o": other.object}
            if pair is not fact.relation.solution:
                words["s"] = slots["s"]
            wrong.append(self.render(pair, words, capital=False))
        return right, sorted({text for text in wrong if text != right})

    def _plain(self, fact: Fact, choose: random.Random) -> Asked:
        slots = self.slots(fact, choose)
        relation = fact.relation
        if relation.personal and choose.random() < 0.4:
            background, question = choose.choice(relation.personal)
            text = f"{self.render(background, slots)} {self.render(question, slots)}"
        else:
            text = self.render(choose.choice(relation.asked), slots)
        right, wrong = self._answers(fact, slots, relation.answer)
        subject = relation.subject[self._side]
        return Asked(self._someone_asks(text, slots, choose), right, tuple(wrong), subject=subject)

    def _supported(self, fact: Fact, choose: random.Random) -> Asked:
        slots = self.slots(fact, choose)
        context = self._support(fact, slots, choose) if choose.random() < 0.5 else ""
        question = self.render(choose.choice(fact.relation.asked), slots)
        right, wrong = self._answers(fact, slots, fact.relation.answer)
        question = question if context else self._someone_asks(question, slots, choose)
        return Asked(question, right, tuple(wrong), context)

    def _someone_asks(self, question: str, slots: Draw, choose: random.Random) -> str:
        if "p" in slots and slots["p"].it in question or choose.random() < 0.6:
            return question
        return f"{self.render(choose.choice(ASKING), slots)} {question}"

    def _support(self, fact: Fact, slots: Draw, choose: random.Random) -> str:
        told = self.render(choose.choice(fact.relation.told), slots)
        scene = self.render(choose.choice(PERSONAL_SCENES), Draw(choose, self.names))
        return f"{scene} {told}"

    def _goal(self, fact: Fact, choose: random.Random) -> Asked:
        slots = self.slots(fact, choose)
        goal = self.render(choose.choice(fact.relation.goals), slots)
        right, wrong = self._answers(fact, slots, fact.relation.solution)
        return Asked(self._someone_asks(goal, slots, choose), right, tuple(wrong))

    def _polar(self, fact: Fact, choose: random.Random) -> Asked:
        slots = self.slots(fact, choose)
        context = self._support(fact, slots, choose)
        truth = choose.random() < 0.5
        if not truth:
            other = choose.choice(self.knowledge.alternatives(fact))
            slots["o"] = other.object
        question = self.render(choose.choice(fact.relation.polar), slots)
        no, yes = YES_NO[self.language]
        return Asked(question, yes if truth else no, (no if truth else yes,), context)

    def story(self, choose: random.Random, topic: str | None = None, number: int = -1) -> Asked:
        """Return a story; the wrong endings belong to other subjects of the same topic.

        ``topic`` and ``number`` (of the subject) fix what it is about; drawn where not given.
        """
        fitting = [story for story in STORIES if topic in (None, story.topic)]
        story = choose.choice(fitting)
        members = self.knowledge.topics[story.topic]
        number = choose.randrange(len(members)) if number < 0 else number
        slots = self._story_slots(Draw(choose, self.names), members[number])
        context = self.render(story.context, slots)
        right = self._ending(story, slots)
        wrong = set()
        for other in members:
            filled = self._story_slots(Draw(choose, self.names, dict(slots)), other)
            if story.topic == "physics":
                filled["s"] = slots["s"]
            wrong.add(self._ending(story, filled))
        return Asked("", right, tuple(sorted(wrong - {right})), context)

    def _ending(self, story: Story, slots: Draw) -> str:
        return self.render(story.ending, slots, capital=False)

    def _story_slots(self, slots: Draw, member: dict[str, Fact]) -> Draw:
        for fact in member.values():
            self.with_fact(slots, fact)
        roles = {
            "place": "job_place", "act": "job_action", "tool": "job_tool",
            "food": "animal_food", "home": "animal_home",
        }  # fmt: skip
        for role, relation in roles.items():
            if relation in member:
                slots[role] = member[relation].object
        return slots
