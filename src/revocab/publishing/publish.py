"""`revocab publish`: a checked model folder becomes a page on the Hub, private unless asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from revocab.closed import Closed, OneLine
from revocab.command import named_and_flags
from revocab.errors import RevocabError, refuse, refused
from revocab.publishing import repository
from revocab.publishing.contents import Contents, add_results, check_folder, contents_of, read_card

ABOUT = """Upload a model folder to the Hub: revocab publish FOLDER OWNER/NAME --dry-run

Uploads model, tokenizer, card and licence, and nothing else, in one commit to a private repository,
if the model passes its checks. --dry-run shows what would be uploaded.
The token is HF_TOKEN, or that of 'hf auth login'."""


class PublishOptions(Closed):
    """The flags of `revocab publish`."""

    dry_run: bool = Field(default=False, description="show what would be uploaded, and do nothing")
    public: bool = Field(default=False, description="upload to a public repository")
    update: bool = Field(
        default=False,
        description="also upload to a repository with other files: files of the same name are"
        " replaced, the others stay",
    )
    history: bool = Field(
        default=False, description="also upload provenance.json and diagnostics.json"
    )
    scores: list[Path] = Field(
        default_factory=list,
        description="tables of scores (multiple_choice.csv); those of the model's step go into the"
        " card's metadata",
    )
    benchmarks: dict[str, OneLine] = Field(
        default_factory=dict,
        description="scores to enter for a benchmark of the Hub, as"
        " TASK:METRIC=OWNER/DATASET:TASK_ID",
    )


def publish(words: Sequence[str]) -> str:
    """Return what was, or would be, uploaded; raise :class:`RevocabError` with all problems."""
    verb = "revocab publish FOLDER OWNER/NAME"
    missing = f"give a folder and a name: {verb} --dry-run"
    (place, name), options = named_and_flags(PublishOptions, words, verb, ABOUT, missing, 2)
    folder = Path(place)
    unsound = refused(check_folder, folder)
    problems = [*unsound, *refused(repository.check_name, name)]
    problems += [] if options.dry_run else refused(repository.check_token)
    try:
        contents = None if unsound else contents_of(folder, history=options.history)
        if contents is not None:
            add_results(contents, name, options.scores, options.benchmarks)
        elif (folder / "config.json").is_file():
            read_card(folder)
    except RevocabError as error:
        problems += error.problems
    if problems or contents is None:
        raise RevocabError(problems)
    lines = list(described(contents))
    if options.dry_run:
        state = refused(check_repository, contents, name, options)
        visible = "public" if options.public else "private"
        refusals = [f"would be refused: {problem}" for problem in state]
        state_lines = refusals or ["ready to be uploaded"]
        return "\n".join([f"dry run: {folder} -> {name} ({visible})", *state_lines, "", *lines])
    remote = check_repository(contents, name, options)
    commit = repository.upload(name, remote, contents.files, private=not options.public)
    address = f"published: {name}, commit {commit}; the hashes on the Hub are those of this folder"
    return "\n".join([*lines, "", address, f"to use it: --source {name}@{commit}"])


def check_repository(contents: Contents, name: str, options: PublishOptions) -> repository.Remote:
    """Return what lies at a name; :class:`RevocabError` where an upload would not be as asked."""
    repository.check_token()
    remote = repository.look_at(name)
    problems = []
    if remote.commit is not None and remote.private is options.public:
        there, flag = ("private", "without --public") if remote.private else ("public", "--public")
        problems.append(f"{name} is {there} on the Hub; publish {flag}, or change its settings")
    held = [place for place in remote.files if place != ".gitattributes"]  # of the Hub
    others = [place for place in held if place not in contents.files]
    replaced = [
        place
        for place in held
        if place not in others
        if not remote.same(place, contents.files[place])
    ]
    if (replaced or others) and not options.update:
        problems.append(
            f"{name} holds files: {', '.join(replaced) or 'none'} would be replaced,"
            f" {', '.join(others) or 'none'} would stay; give --update, or another name"
        )
    refuse(problems)
    repository.check_card(name, contents.card)
    return remote


def described(contents: Contents) -> Iterator[str]:
    sizes = {name: repository.size_of(contents.files[name]) for name in sorted(contents.files)}
    yield f"to the Hub: {len(sizes)} files, {sum(sizes.values()):,} bytes"
    yield from (f"  {size:>15,}  {name}" for name, size in sizes.items())
    yield "stays here:" if contents.stays else "nothing stays here"
    yield from (f"  {name}: {why}" for name, why in contents.stays.items())
    yield "metadata of the card:"
    yield from (f"  {line}" for line in contents.card.data.to_yaml().splitlines())
    if not contents.card.data.license:
        yield "note: the card names no licence (license: …), so others may not use the model"
