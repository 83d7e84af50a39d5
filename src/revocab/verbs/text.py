"""Text: the demo's invented world, corpora, and a model's own answers."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.corpora.answers.options import AnswerJob, JudgeJob
from revocab.corpora.documents import CorpusJob
from revocab.demoworld.build import WorldJob
from revocab.evaluation.inference.chat_prompts import chat_template_input
from revocab.evaluation.options import AnswerHardware
from revocab.models.hub_or_folder import model_field
from revocab.verb import verb


@verb()
def build_demoworld(*, options: WorldJob, out: Path) -> None:
    """Generate the demo's invented bilingual world: documents, parallel text, questions, tasks."""
    from revocab.demoworld.build import write_world

    write_world(out, options)


@verb()
def prepare_corpus(
    *,
    files: list[Path] = Field(
        default_factory=list,
        description=".jsonl, .txt or .tsv (also .gz, .zst), .parquet, or a folder of such files",
    ),
    options: CorpusJob,
    out: Path,
) -> str:
    """Prepare a corpus from files or the Hub: deduplicate documents and hold some of them out."""
    from revocab.corpora.prepare import prepare, skipped_counts

    corpus = prepare(files, options, out)
    train, heldout = (
        f"{corpus[split]['documents']:,} documents ({corpus[split]['bytes']:,} bytes)"
        for split in ("train", "heldout")
    )
    left_out = skipped_counts(corpus["skipped"])
    more = "" if options.heldout_bytes else "; --heldout-bytes holds text out (pack_heldout)"
    return (
        f"{out}: {train} to train on, {heldout} held out; left out: {left_out}\n"
        f"next: --corpora {options.corpus}={out} of revocab fertility, tokenizer or pack{more}"
    )


@verb(finds=("evaluation/inference/engines",))
def answer_prompts(
    *,
    model: Path = model_field("model folder"),
    files: list[Path] = Field(
        default_factory=list, description="files of conversations, whose answers are not read"
    ),
    chat_template: Path | None = chat_template_input(),
    options: AnswerJob,
    machine: AnswerHardware,
    out: Path,
) -> None:
    """Let a model answer the questions of conversations itself, through its chat template."""
    from revocab.corpora.answers.answer import answer_folder

    answer_folder(model, files, options, machine, out, chat_template)


@verb(finds=("corpora/answers/judges", "evaluation/inference/engines"))
def judge_answers(
    *,
    conversations: Path = Field(description="file of conversations, such as answer writes"),
    model: Path | None = model_field("model folder of the judge", default=None),
    options: JudgeJob,
    machine: AnswerHardware,
    out: Path,
) -> None:
    """Keep the conversations that a judge finds good: a rule, or a chat model."""
    from revocab.corpora.answers.answer import judge_folder

    judge_folder(conversations, model, options, machine, out)
