"""Languages as data: one YAML file each, ``<id>.yaml``. Dropping a file here adds a language.

Prompts are written with words that depend on the language: ``<<question>>`` in a template of a
multiple-choice task or in the layout of a generation task stands for the word ``question`` of the
language that is answered in. ``from_en`` is how it says "from English" in its word ``translate``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from pydantic import Field

from revocab import yaml_file
from revocab.closed import Closed, Id, OneLine, checked
from revocab.errors import RevocabError
from revocab.extensions import files_in

FOLDER = Path(__file__).parent
#: A word that depends on the language, as templates and layouts write it.
WORD = re.compile(r"<<([a-z_]+)>>")
#: A word of running text.
LETTERS = re.compile(r"[^\W\d_]+")
NONE: Mapping[str, str] = MappingProxyType({})


class Language(Closed):
    """What readers and models are told of a language."""

    #: In English; also what English calls it when it is translated from.
    name: OneLine
    #: Those that it is written in, by Unicode's names, of which a vocabulary may keep the letters.
    scripts: tuple[OneLine, ...] = ()
    #: Hexadecimal colours of its corpora in figures, the first also its own; none: any.
    colours: tuple[OneLine, ...] = ()
    #: Words that carry nothing in a short answer; elided ones end in an apostrophe.
    articles: tuple[OneLine, ...] = ()
    elided_articles: tuple[OneLine, ...] = ()
    #: Words that its texts are full of, in lower case; they tell which language an answer is in.
    frequent: tuple[OneLine, ...] = ()
    #: What prompts say in it.
    words: dict[str, OneLine] = Field(default_factory=dict)
    #: How other languages say "from" it, for those whose own files do not.
    called: dict[Id, OneLine] = Field(default_factory=dict)


@cache
def languages() -> dict[str, Language]:
    """Return every language by id; raise :class:`RevocabError` naming the file whose keys are
    wrong, or stand there twice.
    """
    files = {}
    for language, path in files_in(FOLDER, ".yaml").items():
        values, repeated = yaml_file.read(path)
        if repeated:
            raise RevocabError(repeated)
        files[language] = checked(Language, values, str(path))
    return files


def codes_by_name() -> dict[str, str]:
    """Return the codes of languages by their English names, in small letters."""
    return {known.name.lower(): code for code, known in languages().items()}


def language_label(language: str) -> str:
    return languages()[language].name if language in languages() else language


def language_colours(language: str) -> tuple[str, ...]:
    return languages()[language].colours if language in languages() else ()


def frequent_words(texts: Iterable[str], most: int | None = None) -> tuple[int, dict[str, int]]:
    """Return how many words of texts were looked at, and how many of these are frequent ones of
    each language whose file lists such words.
    """
    running = (word[0].casefold() for text in texts for word in LETTERS.finditer(text))
    words = Counter(islice(running, most))
    return words.total(), {
        name: sum(words[word] for word in {*file.frequent})
        for name, file in languages().items()
        if file.frequent
    }


def scripts_of(names: Iterable[str]) -> list[str]:
    """Return the scripts of some languages; raise :class:`RevocabError` for those not known."""
    known = {name: languages()[name].scripts if name in languages() else () for name in names}
    having = ", ".join(name for name, file in languages().items() if file.scripts)
    problems = [
        f"languages/{name}.yaml names no scripts (languages that do: {having}); add 'scripts:"
        " [Latin]' to such a file in your own folder (docs/extending.md)"
        for name, scripts in known.items()
        if not scripts
    ]
    if problems:
        raise RevocabError(problems)
    return sorted({script for scripts in known.values() for script in scripts})


@cache
def words_of(language: str) -> Mapping[str, str]:
    words = {}
    for other, file in languages().items():
        called = {"en": file.name, **file.called}
        if language in called:
            words[f"from_{other}"] = called[language]
    return {**words, **(languages()[language].words if language in languages() else {})}


def lacking(text: str, language: str, aliases: Mapping[str, str] = NONE) -> list[str]:
    words = words_of(language)
    needed = {aliases.get(name, name) for name in WORD.findall(text)}
    for word in list(needed):
        needed |= {aliases.get(name, name) for name in WORD.findall(words.get(word, ""))}
    return sorted(needed - words.keys())


def fill(texts: Iterable[str], language: str, aliases: Mapping[str, str] = NONE) -> list[str]:
    """Return texts with the language's word in place of every ``<<word>>``.

    ``aliases`` give words another name: ``{"source": "from_en"}``. Raises :class:`RevocabError`
    naming the words that are missing, the file where they belong and the languages that have them.
    """
    texts = list(texts)
    problem = missing_words(texts, language, aliases)
    if problem:
        raise RevocabError(problem)
    words = words_of(language)

    def filled(text: str) -> str:
        return WORD.sub(lambda name: words[aliases.get(name[1], name[1])], text)

    return [filled(filled(text)) for text in texts]


def missing_words(
    texts: Iterable[str], language: str, aliases: Mapping[str, str] = NONE
) -> str | None:
    text = "\n".join(texts)
    missing = lacking(text, language, aliases)
    if not missing:
        return None
    having = [other for other in languages() if not lacking(text, other, aliases)]
    strangers = [word.removeprefix("from_") for word in missing if word.startswith("from_")]
    also = [f", or to {other}.yaml as 'called: {{{language}: …}}'" for other in strangers]
    file = files_in(FOLDER, ".yaml").get(language)
    where = "that file" if file else "such a file in your own folder (docs/extending.md)"
    return (
        f"{file or f'languages/{language}.yaml'} lacks the words {', '.join(missing)} (languages"
        f" that have all that this prompt needs: {', '.join(having) or 'none'}); add them"
        f" to {where}{''.join(also)}"
    )
