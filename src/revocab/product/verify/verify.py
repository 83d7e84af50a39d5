"""`revocab verify`: does a model give the same tokens, text and logits wherever it is loaded?

The ``tokenizers`` library says what the ids are, from the folder's tokenizer.json or from another's
that is given. Logits are compared with those of transformers in float32.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from revocab.closed import Closed, unknown
from revocab.errors import RevocabError, refuse
from revocab.heavy_types import Tokenizer
from revocab.io import not_folder, read_json, text_lines
from revocab.links import check_file
from revocab.models.hub_or_folder import local, model_field
from revocab.product.verify.runtimes import (
    LLAMA_CPP,
    Answer,
    Expected,
    Missing,
    Request,
    load,
    runtimes,
)
from revocab.verb import verb
from revocab.vocabulary.tokenizers.identity import fixed_texts, golden_texts

#: Texts whose logits are compared, each at its first, middle and last position, and their tokens.
LOGIT_TEXTS, FEWEST_TOKENS, MOST_TOKENS = 4, 4, 32
SHOWN = 60


class VerifyOptions(Closed):
    """The flags of `revocab verify`."""

    gguf: Path | None = Field(default=None, description="the GGUF made of it, for llama.cpp")
    runtime: list[str] = Field(
        default_factory=list,
        description="runtimes, by the names that are printed; default: all that are installed",
    )
    tokenizer: Path | None = Field(
        default=None,
        description="folder of the tokenizer whose ids are expected; default: MODEL's own",
    )
    text: list[Path] = Field(
        default_factory=list, description="text files (UTF-8), of which each line is compared"
    )
    logits: bool = Field(
        default=True, description="compare logits, where there are weights; loads them in float32"
    )
    shown: int = Field(default=3, ge=0, le=1000, description="differences to show for each")
    json_: bool = Field(default=False, alias="json", description="print JSON")


@dataclass(frozen=True)
class Verified:
    """What was compared, and what came of it."""

    model: str
    notes: list[str]
    results: list[Result]

    @property
    def verdict(self) -> Literal["equal", "different", "not run"]:
        """What holds of all that was to be compared; a runtime that is not installed was not."""
        states = {result.state for result in self.results} - {"missing"}
        if "different" in states:
            return "different"
        return "equal" if states == {"equal"} else "not run"


@verb()
def verify(model: str = model_field("model or tokenizer"), *, options: VerifyOptions) -> str:
    """Compare tokens, text and logits wherever a model is loaded.

    MODEL is a folder or Hub id, of a model or a tokenizer. Exit status 1 if anything differs.
    """
    verified = verified_model(model, options)
    text = page(verified)
    if options.json_:
        values = {**asdict(verified), "verdict": verified.verdict}
        text = json.dumps(values, ensure_ascii=False, indent=2)
    if verified.verdict != "equal":
        print(text)
        raise SystemExit(1)
    return text


def page(verified: Verified) -> str:
    from revocab.report.template import environment

    names: dict[str, list[str]] = {}
    for result in verified.results:
        names.setdefault(result.state, []).append(result.runtime)
    listed = {state: ", ".join(dict.fromkeys(each)) for state, each in names.items()}
    template = environment(Path(__file__).parent).get_template("verified.txt.j2")
    return template.render(verified=verified, names=listed, most=SHOWN).rstrip()


def verified_model(named: str, options: VerifyOptions) -> Verified:
    """Raise :class:`RevocabError` for what cannot be read, or a named runtime that is missing."""
    check_files(options)
    folder = local(Path(named), "model")
    if not (folder / "tokenizer.json").is_file():
        reason = "it has no tokenizer.json" if folder.is_dir() else not_folder(folder)
        raise RevocabError(
            f"{folder}: {reason}; give a Hugging Face model or tokenizer with a tokenizer.json"
        )
    own = load(folder)
    tokenizer = own if options.tokenizer is None else load(options.tokenizer)
    lines = [line for file in options.text for line in text_lines(file)]
    texts = expected(options.tokenizer or folder, tokenizer, lines)
    origin = options.tokenizer or "its tokenizer.json"
    notes = [f"{len(texts) - len(lines)} strings, {len(lines):,} lines, with the ids of {origin}"]
    is_model = (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))
    computes = options.logits and is_model
    answers: list[tuple[str, Answer]] = []
    results: list[Result] = []
    if computes and (unread := unknown_type(folder)):
        results.append(Result("logits", "failed", unread))
        computes = False
    size = own.get_vocab_size()
    usable = [entry.ids[:MOST_TOKENS] for entry in texts if len(entry.ids) >= FEWEST_TOKENS]
    usable = [ids for ids in usable if max(ids) < size] if computes else []
    spread = usable[:: max(1, len(usable) // LOGIT_TEXTS)][:LOGIT_TEXTS]
    requests = [(ids, [0, len(ids) // 2, len(ids) - 1]) for ids in spread]
    # Of ids that the model has not, most runtimes decode none, and end.
    within = [replace(text, ids=[number for number in text.ids if number < size]) for text in texts]
    request = Request(folder, within, options.gguf, requests)
    for name in options.runtime or runtimes():
        try:
            answers += [(name, answer) for answer in runtimes()[name](request)]
        except Missing as error:
            if options.runtime:
                raise RevocabError(f"--runtime {name}: {error.problems[0]}") from None
            # A file that was given for it was to be compared.
            was_named = options.gguf is not None and name == LLAMA_CPP
            results.append(Result(name, "failed" if was_named else "missing", error.problems[0]))
        except RevocabError as error:
            results.append(Result(name, "failed", "; ".join(error.problems)))
    reference = None
    if any(answer.logits for _, answer in answers):
        try:
            reference = reference_logits(folder, request.logits)
        except RevocabError as error:
            results.append(Result("logits", "failed", "; ".join(error.problems)))
            answers = [(name, replace(answer, logits=())) for name, answer in answers]
    elif requests:
        notes.append("logits not compared: no runtime that computes them is here")
    namers = (tokenizer.id_to_token, own.id_to_token)
    comparisons = [
        compared(name, answer, texts, reference, namers, options.shown) for name, answer in answers
    ]
    return Verified(named, notes, [*comparisons, *results])


def unknown_type(folder: Path) -> str | None:
    """Return why transformers computes nothing for a folder; None: it knows the model's type."""
    from transformers import AutoConfig

    try:
        AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except (KeyError, OSError, ValueError):
        kind = read_json(folder / "config.json").get("model_type")
        return f"{folder / 'config.json'}: transformers does not read it (model_type {kind!r})"
    return None


def check_files(options: VerifyOptions) -> None:
    problems = [
        unknown("--runtime", name, runtimes(), "runtime")
        for name in options.runtime
        if name not in runtimes()
    ]
    files = [("--text", path) for path in options.text]
    if options.gguf is not None:
        files.append(("--gguf", options.gguf))
        if options.runtime and LLAMA_CPP not in options.runtime:
            problems.append(f"--gguf: only {LLAMA_CPP} reads it; add it to --runtime")
    problems += [
        f"{flag}: {file} is not a file; give one" for flag, file in files if not file.is_file()
    ]
    refuse(problems)
    for _, file in files:
        check_file(file)


def expected(folder: Path, tokenizer: Tokenizer, lines: Sequence[str]) -> list[Expected]:
    """Return the golden texts of a folder, and lines, with the ids that a tokenizer gives them."""
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    try:
        texts = [*golden_texts(load_tokenizer(folder))]
    except RevocabError:  # as the line of that runtime says
        texts = [(text, True) for text in fixed_texts()]
    entries = []
    for text, special in (*texts, *((line, True) for line in lines)):
        ids = tokenizer.encode(text, add_special_tokens=special).ids
        decoded = tokenizer.decode(ids, skip_special_tokens=True)
        entries.append(Expected(text, ids, decoded, special))
    return entries


def reference_logits(folder: Path, requests: Sequence[tuple[list[int], list[int]]]) -> Any:
    """Return transformers' logits in float32, a row for each position."""
    import torch

    from revocab.models.load import load_causal_lm

    model = load_causal_lm(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        return torch.cat([model(torch.tensor([ids])).logits[0, at].float() for ids, at in requests])


#: So many tokens and characters are shown from where a difference begins.
TOKENS, CHARACTERS = 8, 30


@dataclass(frozen=True)
class Difference:
    """Where the tokens of a text, or what they decode to, begin to differ."""

    text: str
    what: str
    #: The first token, or character, that differs.
    at: int
    #: Some of each from there on, tokens with their ids.
    expected: str
    received: str

    def shortened(self, most: int) -> str:
        return f"{self.text[:most]!r}{' …' * (len(self.text) > most)}"


@dataclass
class Result:
    """What came of one way to load the model."""

    runtime: str
    #: ``equal``, ``different``, ``failed`` or ``missing``.
    state: str
    #: Its version and class, or why it failed or is missing.
    about: str
    texts: int = 0
    same_ids: int = 0
    same_text: int = 0
    #: The largest difference of logits, and the largest that rounding explains.
    logits: float | None = None
    allowed: float | None = None
    differences: list[Difference] = field(default_factory=list)


def compared(
    runtime: str,
    answer: Answer,
    texts: Sequence[Expected],
    logits: Any,
    namers: tuple[Callable[[int], str | None], Callable[[int], str | None]],
    shown: int,
) -> Result:
    """Return what came of one way; ``namers`` name the tokens of expected and received ids."""
    if answer.error is not None:
        return Result(runtime, "failed", f"{answer.name}: {answer.error}")
    apart, allowed = logits_apart(answer, logits) if answer.logits else (None, None)
    if apart is not None and not math.isfinite(apart):
        width = len(answer.logits[0])
        reason = f"logits of {width:,} tokens, not finite or not those of this vocabulary"
        return Result(runtime, "failed", f"{answer.name}: {reason}")

    def tokens(ids: Sequence[int], token: Callable[[int], str | None]) -> str:
        return " ".join(f"{token(number)!r}:{number}" for number in ids) or "nothing"

    names = [entry.text for entry in texts]
    ids = zip(names, (entry.ids for entry in texts), map(list, answer.ids), strict=True)
    decoded = zip(names, (entry.decoded for entry in texts), answer.decoded, strict=True)
    shows = [partial(tokens, token=token) for token in namers]
    other_ids = [*differences(ids, "token", TOKENS, shows)]
    other_text = [*differences(decoded, "character decoded", CHARACTERS, (repr, repr))]
    rounded = apart is None or allowed is None or apart <= allowed
    state = "equal" if rounded and not other_ids and not other_text else "different"
    same_ids, same_text = (len(texts) - len(others) for others in (other_ids, other_text))
    listed = [*other_ids[:shown], *other_text[:shown]]
    return Result(
        runtime, state, answer.name, len(texts), same_ids, same_text, apart, allowed, listed
    )


def differences(
    triples: Iterable[tuple[str, Any, Any]],
    what: str,
    most: int,
    shows: Sequence[Callable[[Any], str]],
) -> Iterator[Difference]:
    """Yield what differs of texts, each with what is expected and received, as ``shows`` write."""
    for text, expected, received in triples:
        if expected != received:
            pairs = zip(expected, received, strict=False)
            at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            sides = zip(shows, (expected, received), strict=True)
            parts = (show(whole[at : at + most]) for show, whole in sides)
            yield Difference(text, what, at, *parts)


def logits_apart(answer: Answer, expected: Any) -> tuple[float, float]:
    """Return the largest difference of logits, and what rounding explains; short rows: inf."""
    import torch

    if answer.normalised:
        expected = expected.double().log_softmax(-1)
    theirs = torch.tensor(answer.logits, dtype=torch.float64)[:, : expected.shape[1]]
    if theirs.shape != expected.shape:
        return math.inf, 0.0
    return float((theirs - expected).abs().max()), answer.rounding * float(expected.abs().max())
