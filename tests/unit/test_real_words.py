"""Real tokenizers and words of real text: how many become one token, and what other lines keep.

``pytest -s`` prints the table of docs/tokenizers.md.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter

import pytest
from real_tokenizers import real_tokenizer

from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.building.words import Word, add_words
from revocab.vocabulary.tokenizers.load import load_tokenizer

WORDS, LINES = 200, 2000


def lines_of(shared, language):
    with gzip.open(shared / f"data/corpora/{language}/wikineural.jsonl.gz", "rt") as file:
        return [line for row in file for line in json.loads(row)["text"].splitlines() if line]


def counts(base, words, lines, steps):
    """Return the words that are one token, the new tokens, and the lines that change."""
    added = add_words(base, map(Word, words), steps=steps)
    before, after = base.base.backend_tokenizer, added.vocabulary.backend
    texts = [f"a {word}" for word in words]
    ends = [encoding.ids[-1] for encoding in after.encode_batch(texts, add_special_tokens=False)]
    single = sum(
        end in {added.vocabulary.ids[token] for token in word["tokens"]}
        for end, word in zip(ends, added.words, strict=True)
    )
    pairs = zip(before.encode_batch(lines), after.encode_batch(lines), strict=True)
    changed = [new.tokens for old, new in pairs if old.ids != new.ids]
    step_names = set(added.steps)
    assert all(step_names & set(tokens) for tokens in changed)  # that is why
    return single, len(added.tokens), len(changed)


def split_words(base, lines):
    """Return the most frequent words that a tokenizer splits after a space."""
    words = Counter(re.findall(r"[^\W\d_]{4,}", "\n".join(lines)))
    common = [word for word, _ in words.most_common(4000)]
    encoded = base.encode_batch([f"a {word}" for word in common], add_special_tokens=False)
    before = len(base.encode("a", add_special_tokens=False).ids)
    pairs = zip(common, encoded, strict=True)
    return [word for word, encoding in pairs if len(encoding.ids) > before + 1][:WORDS]


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["mistral", *(
    pytest.param(name, marks=pytest.mark.long) for name in ("llama3", "qwen3", "gemma3", "gptoss")
)])  # fmt: skip
def test_frequent_words_become_tokens(name, shared_folder):
    mistral = shared_folder / "tokenizers" / "mistral-7b-v0.1"
    folder = mistral if name == "mistral" else real_tokenizer(name)
    base = EditableVocabulary.read(load_tokenizer(folder))
    for language in ("it", "ru"):
        lines = lines_of(shared_folder, language)
        words = split_words(base.base.backend_tokenizer, lines)
        holds = re.compile("|".join(map(re.escape, words)), re.IGNORECASE).search
        sentences = [text for line in lines for text in re.split(r"(?<=[.!?]) ", line)]
        others = [sentence for sentence in sentences if not holds(sentence)][-LINES:]
        assert (len(words), len(others)) == (WORDS, LINES)
        with_steps = counts(base, words, others, True)
        whole = base.state["model"].get("ignore_merges")
        without = with_steps if whole else counts(base, words, others, False)
        print(f"\n| {name}, {language} |", *with_steps, "|", *without, "|")
        assert with_steps[0] >= 0.97 * WORDS
        assert without[2] == 0
