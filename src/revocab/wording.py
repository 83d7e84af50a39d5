"""Pydantic's errors in words for whoever wrote the file: what was expected, what was received."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

#: Most characters of a value that a line repeats.
LONGEST = 200
#: Ids become file names, wildcards and labels: no shell or path character, and no "--",
#: which joins ids in file names.
ID = r"^[a-z0-9]+([._-][a-z0-9]+)*$"
#: ISO 639-1 or 639-3, with a script or region where one is needed.
LANGUAGE = r"^[a-z]{2,3}([_-][a-z0-9]+)?$"
#: Codes of three letters (ISO 639-2, the bibliographic ones, too) that have one of two, each before
#: it; and countries' codes that people write for a language.
ENTRIES = (
    "aaraa abkab aveae afraf akaak amham argan araar asmas avaav aymay azeaz bakba belbe bulbg "
    "bihbh bisbi bambm benbn bodbo tibbo brebr bosbs catca chece chach cosco crecr cescs czecs "
    "chucu chvcv cymcy welcy danda deude gerde divdv dzodz eweee ellel greel engen epoeo spaes "
    "estet baqeu euseu fasfa perfa fulff finfi fijfj faofo frafr frefr fryfy glega glagd glggl "
    "grngn gujgu glvgv hauha hebhe hinhi hmoho hrvhr hatht hunhu armhy hyehy herhz inaia indid "
    "ileie iboig iiiii ipkik idoio iceis islis itait ikuiu jpnja javjv geoka katka konkg kikki "
    "kuakj kazkk kalkl khmkm kankn korko kaukr kasks kurku komkv corkw kirky latla ltzlb luglg "
    "limli linln laolo litlt lublu lavlv mlgmg mahmh maomi mrimi macmk mkdmk malml monmn marmr "
    "mayms msams mltmt burmy myamy nauna nobnb ndend nepne ndong dutnl nldnl nnonn norno nblnr "
    "navnv nyany ocioc ojioj ormom orior ossos panpa plipi polpl pusps porpt quequ rohrm runrn "
    "ronro rumro rusru kinrw sansa srdsc sndsd smese sagsg sinsi slksk slosk slvsl smosm snasn "
    "somso albsq sqisq srpsr sswss sotst sunsu swesv swasw tamta telte tgktg thath tirti tuktk "
    "tgltl tsntn tonto turtr tsots tattt twitw tahty uigug ukruk urdur uzbuz venve vievi volvo "
    "wlnwa wolwo xhoxh yidyi yoryo zhaza chizh zhozh zulzu "
)
SHORTER: dict[str, str] = dict(re.findall(r"(...)(..) ", ENTRIES))
LANGUAGES = frozenset({*SHORTER.values(), "sh"})  # sh: of older data
COUNTRIES = {"cn": "zh", "cz": "cs", "dk": "da", "gr": "el", "jp": "ja", "ua": "uk", "vn": "vi"}
#: A repository of the Hub.
HUB_NAME = r"\w[\w.-]*"
HUB_ID = rf"^{HUB_NAME}(/{HUB_NAME})?$"
#: A branch, tag or commit, as git names them.
REVISION = r"^\w[\w./+-]*$"
#: Characters of a text on one line, of which a path is one; and of an id, which is part of names of
#: files.
LONGEST_LINE, LONGEST_ID = 4096, 100
#: What moves a terminal's cursor, changes its colours, or turns the text around it: control
#: characters but for the tabulator, line ends, and overrides of direction.
CONTROLS = r"\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
ONE_LINE = rf"^[^{CONTROLS}]*$"
PATTERNS = {
    ID: "an id (lower-case letters and digits, with one of . _ - between them)",
    LANGUAGE: "a language's code (ISO 639, such as it)",
    HUB_ID: "a Hub id, such as owner/name",
    REVISION: "a branch, tag or commit",
    ONE_LINE: "text on one line, without control characters",
}
#: By the beginning of an error's type, what was expected; names in braces are of its context.
EXPECTED = {
    "greater_than_equal": "at least {ge:,}",
    "greater_than": "more than {gt:,}",
    "less_than_equal": "at most {le:,}",
    "less_than": "less than {lt:,}",
    "int_": "a whole number",
    "float_": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "string_too_long": "at most {max_length:,} characters",
    "bool_": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys",
    "mapping_type": "a mapping of keys",
    "model_": "a mapping of keys",
    "literal_error": "{expected}",
    "path_type": "a path",
    "too_short": "{min_length} or more entries",
    "too_long": "at most {max_length} entries",
}


def known_language(code: str) -> str:
    """Return a language's code; :class:`ValueError` for two letters that stand for none, and for
    three where there are two: a language would have two names.
    """
    letters = re.match("[a-z]*", code)[0]  # type: ignore[index]
    if letters in SHORTER:
        raise ValueError(f"the code of {letters} is {SHORTER[letters]}; write that")
    if len(letters) == 3 or letters in LANGUAGES:
        return code
    meant = f": write {COUNTRIES[letters]}" if letters in COUNTRIES else "; give one of ISO 639"
    raise ValueError(f"no language has the code {letters}{meant}")


def expected(error: Mapping[str, Any]) -> str | None:
    """Return what an error says was expected; None for one that has a sentence of its own."""
    kind = error["type"]
    context = {
        key: int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in error.get("ctx", {}).items()
    }
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(str(context["pattern"]), f"text that matches {context['pattern']}")
    if kind == "string_type" and isinstance(error["input"], bool):
        return "text (YAML reads no, yes, off and on as false and true: write them in quotes)"
    words = next((words for start, words in EXPECTED.items() if kind.startswith(start)), None)
    return None if words is None else words.format(**context)


def sentence(errors: Sequence[Mapping[str, Any]]) -> str:
    """Return what is wrong with a value, which each error says of one type that it might have."""
    own = [error for error in errors if expected(error) is None]
    value = shown(errors[0]["input"])
    if own:
        return own[0]["msg"].removeprefix("Value error, ") + value
    wanted = dict.fromkeys(filter(None, map(expected, errors)))
    return f"expected {' or '.join(wanted)}{value}{of_percent(errors[0])}"


def of_percent(error: Mapping[str, Any]) -> str:
    """Return the share that a percentage is, where one was written in place of it."""
    with suppress(TypeError, ValueError):
        percent = float(error["input"])
        if error.get("ctx", {}).get("le") == 1 and 1 < percent <= 100:
            return f"; {percent:.6g} % is {percent / 100:.6g}"
    return ""


def shown(value: Any) -> str:
    if isinstance(value, dict):
        return ""
    text = repr(value)
    return f", received {text if len(text) <= LONGEST else f'{text[:LONGEST]}…'}"
