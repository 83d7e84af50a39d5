"""Names of the files that the generated world consists of."""

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
