"""Closed models: what every option, job and experiment file is made of, and how they complain."""

from __future__ import annotations

import difflib
import json
import re
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)

from revocab.errors import CONTROLS, LONGEST, RevocabError
from revocab.limits import StepNumber

T = TypeVar("T")

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


Id = Annotated[str, StringConstraints(pattern=ID, max_length=LONGEST_ID)]
HubId = Annotated[str, StringConstraints(pattern=HUB_ID)]
Language = Annotated[str, StringConstraints(pattern=LANGUAGE), AfterValidator(known_language)]


@dataclass(frozen=True)
class Refers:
    """What an id in an experiment file names: a corpus, a tokenizer, a model, …"""

    to: str


CorpusId = Annotated[Id, Refers("corpus")]
TokenizerId = Annotated[Id, Refers("tokenizer")]
ModelId = Annotated[Id, Refers("model")]
MixtureId = Annotated[Id, Refers("mixture")]
RecipeId = Annotated[Id, Refers("recipe")]
GroupId = Annotated[Id, Refers("run group")]
#: A run as tables and figures show it: of replicates, the one that stands for all.
ShownRunId = Annotated[Id, Refers("run")]
TaskId = Annotated[Id, Refers("task")]
GenerationTaskId = Annotated[Id, Refers("generation task")]
#: A language of multiple-choice tasks.
TaskLanguage = Annotated[Id, Refers("language with tasks")]
HeldoutLanguage = Annotated[Id, Refers("language with held-out text")]
MeasuredCorpusId = Annotated[Id, Refers("corpus under fertility.corpora")]
MeasuredTokenizerId = Annotated[Id, Refers("tokenizer under fertility.tokenizers")]
#: Files by which rules of the workflow name the folder that they lie in.
OF_FOLDERS = ("manifest.json", "train.jsonl.gz", "heldout.jsonl.gz")
#: A folder, named by its path or by such a file in it.
Folder = Annotated[
    Path, AfterValidator(lambda path: path.parent if path.name in OF_FOLDERS else path)
]
#: Of a repository on the Hub.
Revision = Annotated[str, StringConstraints(pattern=REVISION)]
#: Free text on one line.
OneLine = Annotated[str, StringConstraints(pattern=ONE_LINE, min_length=1, max_length=LONGEST_LINE)]
#: Names of checkpoints by their place among those of a run.
PLACES = ("first", "last")
#: Among the checkpoints that are scored: every one.
EVERY = "all"
#: Name of the checkpoint of lowest held-out loss, of runs whose recipe keeps it; which one that is
#: is known after training, so that a run or model can be made of it, but not a step be shown.
BEST = "best"
#: A checkpoint: its number (0 is the model before training), its place, or the stage that it ends.
Step = StepNumber | Id


class Closed(BaseModel):
    """Unknown keys are errors; null is the default; values do not change after validation.

    True and false are no numbers, nor are infinities; bounds are in :mod:`revocab.limits`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)
    #: The type under keys that a file names freely beside those of a model.
    others: ClassVar[Any] = None

    @model_validator(mode="before")
    @classmethod
    def _nulls_are_defaults_and_booleans_no_numbers(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        defaults = {
            key: field.get_default(call_default_factory=True)
            for key, field in cls.model_fields.items()
            if key in values and values[key] is None and not field.is_required()
        }
        return {
            key: spelt_booleans(value) if takes_numbers(cls, key) else value
            for key, value in values.items()
            if value is not None or defaults.get(key) is None
        }


@cache
def takes_numbers(model: type[BaseModel], key: str) -> bool:
    """Return whether a key is of numbers, or of lists or mappings of them, and of nothing that may
    be a truth value.
    """
    field = model.model_fields.get(key)
    kinds = set(kinds_in(field.annotation)) if field else set()
    others = any(is_model(kind) or kind in (bool, Any) for kind in kinds)
    return bool(kinds & {int, float}) and not others


def spelt_booleans(value: Any) -> Any:
    """Return a value with true and false, which Python takes for 1 and 0, as text that is none."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return {key: spelt_booleans(inner) for key, inner in value.items()}
    return [spelt_booleans(inner) for inner in value] if isinstance(value, list) else value


def kinds_in(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Annotated:
        yield from kinds_in(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType, list, tuple, dict):
        for part in get_args(annotation):
            yield from kinds_in(part)
    else:
        yield annotation


class RunStep(Closed):
    """A checkpoint of another run; 0 is its model before training."""

    #: The run whose model is taken.
    run: Id
    #: 0, a number, first, last, best, or the name of a stage.
    step: Step = "last"


class Job(Closed):
    """What decides the output of a command beside its input files: settings, ids, seeds.

    It holds nothing of a machine (paths, threads, devices) and nothing that only labels a result,
    so that Snakemake reruns a rule exactly when its job changes.
    """

    @classmethod
    def of(cls, *sections: BaseModel, **own: Any) -> Self:
        """Return the job of the keys that it shares with sections of an experiment, and its own."""
        stated: dict[str, Any] = {}
        for section in sections:
            stated |= section.model_dump(include=cls.model_fields.keys() - own.keys())
        return cls(**stated, **own)

    def canonical(self) -> str:
        """Return the job as JSON with every default: equal jobs give equal text."""
        # Mappings keep their order, which may decide a result (that of corpora in a mixture does).
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))


def exactly_one(value: Any, keys: tuple[str, ...]) -> Any:
    """Return ``value`` if exactly one of its ``keys`` is set; else raise ``ValueError``."""
    stated = [key for key in keys if getattr(value, key) is not None]
    if len(stated) != 1:
        raise ValueError(
            f"exactly one of {', '.join(keys)} must be given, received "
            f"{', '.join(stated) or 'none'}"
        )
    return value


class OfKinds(Closed):
    """Base of what is of some kind: one key names the kind, which has further options of its own.

    The models of its kinds (:func:`models_of`) are made when they are first wanted, since kinds are
    found at run time.
    """

    named_by: ClassVar[str] = "kind"

    @classmethod
    @abstractmethod
    def kinds(cls) -> Mapping[str, Any]:
        """Return the kinds by name: the models of their options, or what has these as options."""

    def own_options(self) -> dict[str, Any]:
        """Return the options of its kind alone, as records of what was made have them."""
        kind = self.kinds()[getattr(self, self.named_by)]
        return self.model_dump(mode="json", include={*getattr(kind, "options", kind).model_fields})


AnyKind = TypeVar("AnyKind", bound=OfKinds)


@cache
def models_of(base: type[AnyKind]) -> dict[str, type[AnyKind]]:
    """Return the model of each kind by its name: the keys of ``base`` and the kind's own options,
    which may narrow those keys.
    """
    models = {}
    for name, kind in base.kinds().items():
        options = getattr(kind, "options", kind)
        narrowed: dict[str, Any] = {
            key: (field.annotation, field)
            for key, field in options.model_fields.items()
            if key in base.model_fields
        }
        models[name] = (
            options
            if issubclass(options, base)
            else create_model(
                f"{name}_{base.__name__}",
                __base__=(base, options),
                __doc__=getattr(kind, "summary", options.__doc__),
                **{base.named_by: Literal[name], **narrowed},
            )
        )
    return models


def kind_of(model: type[OfKinds]) -> str:
    """Return the kind that a model is of; "" of a base, which stands for all."""
    annotation = model.model_fields[model.named_by].annotation
    return get_args(annotation)[0] if get_origin(annotation) is Literal else ""


def any_of(base: type[OfKinds]) -> Any:
    """Return the type of whatever is of one of the kinds of ``base``."""
    models = tuple(models_of(base).values())
    if len(models) == 1:
        return models[0]
    return Annotated[Union[models], Field(discriminator=base.named_by)]  # noqa: UP007


def nearest(value: Any, allowed: Collection[str]) -> str | None:
    return next(iter(difflib.get_close_matches(str(value), sorted(allowed), n=1)), None)


def near(value: Any, allowed: Collection[str]) -> str:
    like = nearest(value, allowed)
    return f"; did you mean {like!r}?" if like else ""


def unknown(key: str, value: str, allowed: Collection[str], what: str) -> str:
    known = ", ".join(sorted(allowed)) or "none"
    return f"{key}: no {what} {value!r} (known: {known}){near(value, allowed)}"


def look_up(key: str, name: str, known: Mapping[str, T], what: str) -> T:
    """Return what a name stands for; raise :class:`RevocabError` with the known ones if nothing."""
    if name not in known:
        raise RevocabError(unknown(key, name, known, what))
    return known[name]


def plain(annotation: Any) -> Any:
    if get_origin(annotation) is Annotated:
        return plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        members = [member for member in get_args(annotation) if member is not NoneType]
        return plain(members[0]) if len(members) == 1 else annotation
    return annotation


def is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def located(model: Any, location: Iterable[Any]) -> tuple[list[str], Any]:
    """Return the keys of a file at ``location`` below ``model``, and the type that is there.

    Of several kinds or types, the one that is meant is part of a location and no key, and so is
    pydantic's mark of a mapping's key. The type is None where types do not tell.
    """
    keys: list[str] = []
    model = plain(model)
    for part in location:
        if part == "[key]":
            continue
        several = get_args(model) if get_origin(model) in (Union, UnionType) else ()
        kinds = {kind_of(kind): kind for kind in several} if all(map(is_model, several)) else {}
        if part in kinds:
            model = kinds[part]
            continue
        if several and not kinds:
            model = next((kind for kind in several if get_origin(kind) in (list, dict)), None)
            continue
        keys.append(str(part))
        if is_model(model):
            field = model.model_fields.get(str(part))
            model = plain(field.annotation if field else getattr(model, "others", None))
        else:
            # dict[Id, X] and list[X]: the part is a name or an index, X says what is allowed there.
            model = plain((get_args(model) or (None,))[-1])
    return keys, model


def problems_of(
    error: ValidationError, model: Any, prefix: str = "", places: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield what is wrong with values below ``prefix``, or of some keys below other ``places``."""

    def key_of(fault: Any) -> str:
        keys = located(model, fault["loc"])[0]
        place = (places or {}).get(keys[0] if keys else "", prefix)
        return ".".join(part for part in (place, *keys) if part != "")

    # Of a value that might have several types, each says what it is not.
    for key, errors in groupby(error.errors(include_url=False), key_of):
        fault, *more = errors
        if fault["type"] in ("extra_forbidden", "missing"):
            yield key_problem(key, fault, located(model, fault["loc"][:-1])[1])
            continue
        if fault["type"].startswith("union_tag_"):
            named_by, tag = fault["ctx"]["discriminator"].strip("'"), fault["ctx"].get("tag")
            place = f"{key}.{named_by}" if key else named_by
            kinds = re.findall("'(.*?)'", fault["ctx"].get("expected_tags", ""))
            missing = f"{place}: required and not given"
            yield missing if tag is None else unknown(place, tag, kinds, named_by)
            continue
        messages = (each["msg"].removeprefix("Value error, ") for each in (fault, *more))
        value = "" if isinstance(fault["input"], dict) else repr(fault["input"])
        received = f" (received {value[:LONGEST]})" if value else ""
        what = f"{' or '.join(dict.fromkeys(messages))}{received}"
        yield f"{key}: {what}" if key else what


def key_problem(key: str, fault: Any, model: Any) -> str:
    fields = getattr(model, "model_fields", None)
    if fault["type"] == "missing":
        field = (fields or {}).get(fault["loc"][-1])
        meaning = f" ({field.description})" if field and field.description else ""
        return f"{key}: required and not given{meaning}"
    allowed = sorted(fields or ())
    listed = "" if fields is None else f" (allowed: {', '.join(allowed) or 'none'})"
    return f"{key}: unknown key{listed}{near(fault['loc'][-1], allowed)}"


def checked(model: type[BaseModel], values: Any, prefix: str = "") -> Any:
    """Return ``values`` (a mapping, or JSON text) as a ``model``, or as that of its kind.

    Raises :class:`RevocabError` naming every key that is wrong, below ``prefix``.
    """
    kind, reader = read_as(model)
    try:
        read = reader.validate_json if isinstance(values, str) else reader.validate_python
        return read(values)
    except ValidationError as error:
        raise RevocabError(problems_of(error, kind, prefix)) from None


@cache
def read_as(model: type[BaseModel]) -> tuple[Any, TypeAdapter[Any]]:
    """Return the type of what is read as a model, or as any of its kinds, and what reads it."""
    kind = any_of(model) if issubclass(model, OfKinds) and not kind_of(model) else model
    return kind, TypeAdapter(kind)
