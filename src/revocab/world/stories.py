"""Short narratives that a fact completes: a context and its ending (the HellaSwag-like family).

Slots: those of :mod:`relations`, and ``place``, ``act``, ``tool`` (jobs), ``food``, ``home``
(animals) for the facts that belong to one subject.
"""

from __future__ import annotations

from dataclasses import dataclass

Pair = tuple[str, str]


@dataclass(frozen=True)
class Story:
    """``topic`` names the kind of subject; the ending depends on the slots in ``ending``."""

    topic: str
    context: Pair
    ending: Pair


STORIES = (
    Story(
        "jobs",
        ("{p} fa {il s} {ad t}. Ogni mattina {p.first} si alza presto e va",
         "{p} is {a s} in {t}. Every morning {p.first} gets up early and goes off"),
        ("{loc place} per {act.inf}.", "to {act.inf} {loc place}."),
    ),
    Story(
        "jobs",
        ("{ad t} vive {p}, che è {un s}. Oggi {p.first} prende",
         "In {t} lives {p}, who is {a s}. Today {p.first} takes"),
        ("{il tool} e comincia subito: deve {act.inf}." , "{the tool} and starts: {he p} has to {act.inf}."),
    ),
    Story(
        "animals",
        ("Vicino {ad t} {p} vede {un s}. L'animale ha fame e cerca",
         "Near {t} {p} sees {a s}. The animal is hungry and looks for"),
        ("{gen food} {loc home}.", "{gen food} {loc home}."),
    ),
    Story(
        "animals",
        ("{p} ha {un s} {ad t}. La sera l'animale torna",
         "{p} keeps {a s} in {t}. In the evening the animal is back"),
        ("{loc home} e mangia {gen food}.", "{loc home} and eats {gen food}."),
    ),
    Story(
        "physics",
        ("{ad t} {p} guarda {il s} che {c.pres}. Dopo poco tempo",
         "In {t} {p} watches {the s} that {c.s}. After a short time"),
        ("{il s} {o.pres}.", "{the s} {o.s}."),
    ),
    Story(
        "tools",
        ("{p} abita {ad t} e oggi vuole {o.inf}. Per questo {p.first} prende",
         "{p} lives in {t} and today wants to {o.inf}. For this {p.first} takes"),
        ("{un s} dal cassetto.", "{a s} from the drawer."),
    ),
    Story(
        "places",
        ("È una bella giornata {ad t} e {p} vuole {o.inf}. Così {p.first} esce e va",
         "It is a fine day in {t} and {p} wants to {o.inf}. So {p.first} leaves and goes"),
        ("{loc s} con {q}.", "{to s} with {q}."),
    ),
)  # fmt: skip
