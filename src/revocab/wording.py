"""Patterns of names and texts, and the codes of languages."""

from __future__ import annotations

import re

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
