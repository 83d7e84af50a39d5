"""`revocab trim`: the same model with fewer tokens, for the languages of some texts.

What is kept stays as it is, to the bit: ids are renumbered and rows copied, from file to file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from revocab.errors import RevocabError
from revocab.io import text_lines, write_csv
from revocab.models.folder import ModelFolder
from revocab.models.hub_or_folder import local, model_field
from revocab.output import OutputFolder, check_files
from revocab.product.inputs import Text, measure_texts
from revocab.progress import spoken
from revocab.verb import verb
from revocab.vocabulary.building.constructions.trim import Measure

if TYPE_CHECKING:
    from revocab.models.trimmed_model import TrimmableModel
    from revocab.vocabulary.building.constructions.trim import Trim

NAME = "revocab trim MODEL it=FILE"
#: Shares of each text's tokens of which a dry run tells the price.
SHARES = (1.0, 0.99999, 0.9999, 0.999, 0.99)
PICTURE, REASONS = "coverage", "tokens.csv"


class TrimOptions(Measure):
    """The flags of `revocab trim`."""

    tokens: Path | None = Field(
        default=None, description="file of tokens to keep in any case, one per line"
    )
    head_only: bool = Field(
        default=False,
        description="write the kept rows of the head with their ids, and no model: its tokenizer,"
        " ids and input rows stay",
    )
    out: Path = Field(default=Path("trimmed"), description="folder to write")
    dry_run: bool = Field(default=False, description="show savings and costs, write no model")
    reasons: Path | None = Field(
        default=None,
        description="every token, kept or dropped, and why, as a CSV; the folder written has its"
        " own, tokens.csv",
    )
    picture: Path | None = Field(
        default=None,
        description="coverage by size as FILE.svg and FILE.png; the folder written has its own",
    )


@verb()
def trim(
    model: str = model_field("model to trim"),
    text: dict[str, Path] = Field(default_factory=dict, description="the texts, by language"),
    *,
    options: TrimOptions,
) -> str:
    """Drop tokens that some languages do not need.

    Text of kept tokens alone has the same tokens and logits as before; other text is cut into
    kept tokens. FILE is text of a language (.txt, .jsonl, .parquet, also .gz) or a folder of
    such files. Each language is counted separately. --dry-run shows what it saves and costs.
    --head-only leaves the model as it is: it computes fewer logits.
    """
    from revocab.report.template import environment

    template = environment(Path(__file__).parent).get_template("trimmed.txt.j2")
    return template.render(trimmed(model, text, options))


def trimmed(model: str, text: dict[str, Path], options: TrimOptions) -> dict[str, Any]:
    """Write the trimmed model, unless this is a dry run; return what it saves and costs."""
    if not text and options.languages is None:
        raise RevocabError(
            "no text: --keep and --coverage count tokens in it; give it by its language after the"
            f" model: {NAME}"
        )
    texts = measure_texts(text, "--text") if text else []
    stay = [] if options.tokens is None else [*filter(None, text_lines(options.tokens))]
    inputs = [*text.values(), options.tokens]
    if options.picture is not None and not text:
        raise RevocabError(f"--picture {options.picture}: it shows what texts lose; give a text")
    if options.picture is not None:
        check_files(*map(options.picture.with_suffix, (".svg", ".png")), inputs=inputs)
    if options.reasons is not None:
        check_files(options.reasons, inputs=inputs)
    folder = local(Path(model), "model")
    kind = "trimmed head" if options.head_only else "trimmed model"
    out = None if options.dry_run else OutputFolder(options.out, kind, [folder, *inputs])
    return write(folder, texts, options, stay, out)


def write(
    folder: Path,
    texts: Sequence[Text],
    options: TrimOptions,
    stay: Sequence[str],
    out: OutputFolder | None,
) -> dict[str, Any]:
    import numpy as np

    from revocab.models.load import check_model
    from revocab.models.trimmed_model import TrimmableModel, write_trimmed
    from revocab.product.trimmed_head import write_head
    from revocab.vocabulary.building.constructions.trim import (
        Trim,
        check_known,
        check_spelling,
        compare_lines,
        count_ids,
        describe,
    )
    from revocab.vocabulary.building.editable import EditableVocabulary
    from revocab.vocabulary.tokenizers.identity import fixed_texts
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    say = spoken()
    source = ModelFolder(folder)
    vocabulary = EditableVocabulary.read(load_tokenizer(folder), "model", trimming=True)
    model = TrimmableModel(source, len(vocabulary), options.head_only)
    model.check_stored()
    characters = check_spelling(vocabulary, options.allow_unknown, "--allow-unknown")
    check_known(vocabulary, stay, f"--tokens {options.tokens}")
    say("checking weights")
    check_model(folder)
    say("counting tokens")
    uses = [count_ids(vocabulary.base, text.documents_of()) for text in texts]
    named = vocabulary.base.convert_ids_to_tokens(model.named_tokens)
    reasons = {"listed": stay, "named": named, "character": characters}
    uses_LV = np.array(uses, np.int64).reshape(-1, len(vocabulary))
    stays = {token: reason for reason, tokens in reasons.items() for token in tokens}
    choice = Trim.choose(vocabulary, uses_LV, options, stays)
    compared, lines = {}, 0
    if not options.head_only:  # or text is cut as before
        say("comparing every line before and after")
        lines = compare_lines(choice, fixed_texts()).lines
        compared = {text.language: compare_lines(choice, text.documents_of()) for text in texts}
        lines += sum(changed.lines for changed in compared.values())
    languages = [text.language for text in texts]
    values: dict[str, Any] = {
        "tables": model.tables, "savings": [*savings(model, choice, languages)],
        "languages": languages, "compared": compared, "out": out, "dropped": (),
        "head_only": options.head_only,
    }  # fmt: skip
    if options.picture is not None:
        draw(choice, languages, options.picture.parent, options.picture.stem)
    if options.reasons is not None:
        write_reasons(choice, languages, options.reasons)
    if out is None:
        return values
    say("writing the model folder")
    include = {*Measure.model_fields}
    measures = options.model_dump(mode="json", include=include, exclude_none=True)
    facts = {"options": measures, **describe(choice, languages), "compared_lines": lines}
    with out.replaced() as part:
        if options.head_only:
            write_head(model, choice.kept_N, facts, part)
        else:
            values["dropped"] = write_trimmed(model, choice.kept_N, choice.tokenizer, facts, part)
        write_reasons(choice, languages, part / REASONS)
        if texts:
            draw(choice, languages, part, PICTURE)
    return values


def savings(
    model: TrimmableModel, choice: Trim, languages: Sequence[str]
) -> Iterator[tuple[str, int, float, float, list[float]]]:
    """Yield what the choice and some others keep: tokens, bytes of rows and of the model, and the
    share of each text.
    """
    from revocab.vocabulary.building.constructions.trim import most_that_may_go

    size = len(choice.vocabulary)
    going = {"as it is": 0, "trimmed": choice.going}
    for share in SHARES if languages else ():
        going[f"--coverage {share:g}"] = most_that_may_go(choice.coverage_LK, share)
    for label, number in going.items():
        tables, whole = model.sizes(size - number if number else None)
        yield label, size - number, tables, whole, [row[number] for row in choice.coverage_LK]


def write_reasons(choice: Trim, languages: Sequence[str], file: Path) -> None:
    """Write every token of the model, kept or dropped, with the reason."""
    columns = ["id", "token", "text", "new_id", "reason", "of"]
    columns += [f"uses_{language}" for language in languages]
    write_csv(file, columns, choice.explain(languages))


def draw(choice: Trim, languages: Sequence[str], folder: Path, name: str) -> None:
    """Draw the share of each text that is lost, by the tokens kept."""
    import numpy as np
    from matplotlib import pyplot

    from revocab.languages import language_colours, language_label
    from revocab.report.drawing import SPARE_COLOURS, label_ends, label_width, save, style

    size = len(choice.vocabulary)
    kept_K = size - np.arange(choice.coverage_LK.shape[1])
    names = [language_label(language) for language in languages]
    loses = bool((choice.coverage_LK < 1).any())
    with style():
        figure, axes = pyplot.subplots(figsize=(5.2 + label_width(names), 3.2), layout="tight")
        ends = []
        for number, (language, label) in enumerate(zip(languages, names, strict=True)):
            spare = SPARE_COLOURS[number % len(SPARE_COLOURS)]
            colour = next(iter(language_colours(language)), spare)
            lost_K = 100 * (1 - choice.coverage_LK[number])
            drawn_K = lost_K > 0 if loses else lost_K >= 0
            axes.plot(kept_K[drawn_K], lost_K[drawn_K], color=colour)
            ends.append((float(lost_K[-1]), label, colour))
        axes.axvline(size - choice.going, color="#444444", linewidth=1, linestyle="dashed")
        if loses:
            axes.set_yscale("log")
        else:  # a logarithm has no place for zeros alone
            axes.set_ylim(-0.05, 1)
        axes.invert_xaxis()
        axes.set_xlabel(f"tokens kept, of {size:,}; dashed: {size - choice.going:,}")
        axes.set_ylabel("tokens of the text lost, %")
        axes.set_title("What a smaller vocabulary costs")
        axes.set_xlim(size, kept_K[-1])
        label_ends(axes, ends)
        save(figure, folder, name, "What a smaller vocabulary costs")
