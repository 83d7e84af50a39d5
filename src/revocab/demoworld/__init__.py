"""The demo's world: Italian and English text about invented people and places, from our lexicon.

``lexicon`` is data, ``grammar`` inflects its words, ``names`` invents people and places;
``stories`` says everything in both languages, ``items`` asks about it, ``build`` writes the folder.
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
