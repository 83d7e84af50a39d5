"""The demo's world: Italian and English text about invented people and places, from our lexicon.

``lexicon`` and ``wordings`` are tables, ``grammar`` inflects their words, ``names`` invents people
and places; ``facts`` and ``stories`` say everything in both languages; ``items`` and
``conversations`` ask about it, and ``build`` writes the folder.
"""

FAMILIES = ("hellaswag", "mmlu", "arc_easy", "piqa", "sciq", "boolq")
#: Conversations, where there are some.
CONVERSATIONS = frozenset(
    f"conversations.{language}.{part}" for language in ("it", "en") for part in ("train", "test")
)
WORLD_PARTS = frozenset(
    [f"documents.{language}" for language in ("it", "en")]
    + [f"parallel.{part}" for part in ("train", "test")]
    + [f"questions.{lang}.{part}" for lang in ("it", "en") for part in ("train", "test")]
    + [f"{family}.{language}" for family in FAMILIES for language in ("it", "en")]
    + [*CONVERSATIONS]
)
#: Accuracies, beside the items, of guesses that see no question.
BASELINES = "baselines.json"
