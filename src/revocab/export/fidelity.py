"""Whether a text gives the same tokens in llama.cpp as here: measured line by line, or refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from revocab.errors import RevocabError
from revocab.export.cutters import Cutter, cutters_for
from revocab.export.vocabulary import Vocabulary
from revocab.io import read_json, read_lines
from revocab.tokenizers.alphabets import MARKER, from_byte_level

#: What a model folder may hold: strings and their ids, written beside a tokenizer.
GOLDEN = "token_ids.json"
#: Lines of several scripts, numbers, white space, symbols and code.
PROBES: tuple[str, ...] = (
    "Hello, how are you? It's 3:45 p.m.; we'll meet at No. 10 (don't be late)!",
    "Perché l'università è così lontana? «Un po'», disse — 1.234,56 € nel 2024.",
    "Les élèves qu'on a vus, où étaient-ils ? Straßenbahn, Ärger, œuvre, naïve café.",
    "Η Αθήνα είναι μεγάλη πόλη· Москва — столица России, 12 678 079 жителей.",
    "العربية: مرحبا بالعالم ١٢٣ हिन्दी में नमस्ते ภาษาไทย 日本語のテキスト、中文。한국어도",
    "Habari ya asubuhi, watoto wanacheza nje. Tiếng Việt có nhiều dấu.",
    "🙂 👩‍👩‍👧 ✅ → ½ ² ™ § © №5 e\u0301 \u00a0x\u200by",
    "def f(x):\n\treturn {'a': x**2, \"b\": [1, 22, 333, 4444, 55555]}  # a  b   c",
    "  two before, two after  ",
    "\n\nline\n\n\nline\r\n\ttab\t\ttabs \n end\n",
    "UPPER lower CamelCase snake_case kebab-case HTTPServer2 v1.0.0-rc.1 a@b.c https://x.y/z?q=1",
    '!!! ??? ... ,,, ---- ==== /* */ <tag attr="x"> </tag> $5 #tag 100% 2+2=4',
)
#: Numbers, which splitters cut in many ways.
PROBES += tuple(
    " ".join(str(number) for number in range(start, start + 130 * step, step))
    for start, step in ((1900, 1), (0, 7), (1000, 997), (100000, 86413), (9**9, 9**8))
)
#: Characters of a line that a message repeats.
EXAMPLE = 60
#: A message of each side, to see a chat template's tokens.
CHAT = ({"role": "user", "content": "Ciao!"}, {"role": "assistant", "content": "Ciao, dimmi."})


@dataclass(frozen=True)
class Measured:
    """One of llama.cpp's ways, and on how many texts it gives other tokens than the tokenizer."""

    cutter: Cutter
    lines: int
    differing: int
    #: Texts of single tokens, which show what no line may hold.
    own: int
    own_differing: int
    notes: tuple[str, ...]
    #: One of the texts with other tokens; none: there is none.
    example: str | None

    @cached_property
    def exact(self) -> bool:
        return not (self.differing or self.own_differing)

    def told(self) -> str:
        return (
            f"other tokens on {share(self.differing, self.lines)} lines and on"
            f" {share(self.own_differing, self.own)} tokens' own texts"
        )


def told(measured: Measured) -> Iterator[str]:
    equal = "the same" if measured.exact else "NOT the same"
    yield f"tokens {equal} in llama.cpp's {measured.cutter.name!r}: {measured.told()}"
    for note in measured.notes:
        yield f"not tried, and cut otherwise there: {note}"


def share(count: int, total: int) -> str:
    return f"{count:,} of {total:,} ({count / max(total, 1):.2%})"


def choose(vocabulary: Vocabulary, folder: Path, lines: Path | None, approximate: bool) -> Measured:
    """Return the best known way that gives the same tokens on every line.

    With ``approximate`` the one with the fewest others. Raises :class:`RevocabError`, which names
    what llama.cpp lacks and the share, where every way gives others.
    """
    texts, own = [*lines_of(vocabulary, folder, lines)], own_texts(vocabulary)
    wanted, wanted_own = (ids_here(vocabulary, some) for some in (texts, own))
    added = {vocabulary.tokens[number]: number for number in vocabulary.added}
    ways, known = cutters_for(vocabulary)
    tried = []
    for cutter in ways:
        others = differing(texts, cutter.cut(texts, added), wanted)
        others_own = differing(own, cutter.cut(own, added), wanted_own)
        measured = Measured(
            cutter,
            len(texts),
            len(others),
            len(own),
            len(others_own),
            (*vocabulary.normaliser_notes(), *cutter.notes),
            next(iter([*others, *others_own]), None),
        )
        if measured.exact and known:
            return measured
        tried.append(measured)
    best = min(tried, key=lambda one: (one.differing, one.own_differing))
    if approximate:
        return best
    what = ", ".join(vocabulary.spacing_notes()) or "its merges are not one to a token"
    if not known:
        what = f"its splitter is none of llama.cpp's: {' then '.join(vocabulary.splitter)}"
    if best.example is not None:
        what += f"; so with {best.example[:EXAMPLE]!r}"
    raise RevocabError(
        f"{folder}: llama.cpp cannot cut text as this tokenizer does: {what}. The nearest,"
        f" {best.cutter.name!r}, gives {best.told()}; write it nevertheless with --approximate"
    )


def differing(
    texts: Sequence[str], these: Sequence[list[int]], those: Sequence[list[int]]
) -> list[str]:
    return [text for text, a, b in zip(texts, these, those, strict=True) if a != b]


def ids_here(vocabulary: Vocabulary, texts: Sequence[str]) -> list[list[int]]:
    encoded = vocabulary.tokenizer.backend_tokenizer.encode_batch_fast(
        [*texts], add_special_tokens=False
    )
    return [encoding.ids for encoding in encoded]


def lines_of(vocabulary: Vocabulary, folder: Path, lines: Path | None) -> list[str]:
    """Return the texts on which tokens must be equal: the folder's own, ours, a user's."""
    texts = [*PROBES, *golden(folder / GOLDEN)]
    for number in [*vocabulary.added][:50]:
        token = vocabulary.tokens[number]
        texts += [f"{token}a", f"One {token} two{token}{token}\nthree"]
    if vocabulary.chat_template():
        texts.append(str(vocabulary.tokenizer.apply_chat_template([*CHAT], tokenize=False)))
    if lines is not None:
        with lines.open(encoding="utf-8") as handle:
            texts += [line.rstrip("\n") for line in read_lines(handle, str(lines))]
    return texts


def golden(file: Path) -> list[str]:
    if not file.is_file():
        return []
    content = read_json(file)
    rows = content.get("strings", content) if isinstance(content, dict) else content
    return [row["text"] for row in rows if isinstance(row, dict) and "text" in row]


def own_texts(vocabulary: Vocabulary) -> list[str]:
    """Return the text of every plain token, behind a line end that keeps added spaces away."""
    texts = []
    for number, token in enumerate(vocabulary.tokens):
        if vocabulary.kinds[number] != "normal":
            continue
        text: str | None = token.replace(MARKER, " ")
        if vocabulary.byte_level:
            data = from_byte_level(token)
            try:
                text = None if data is None else data.decode()
            except UnicodeDecodeError:
                text = None
        if text is not None:
            texts += [text] if vocabulary.byte_level else [f"\n{text}"]
    return texts
