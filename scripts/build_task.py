"""Write one self-contained lm-evaluation-harness task: a template with its data filled in."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run
from revocab.errors import RevocabError


def parse() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True, metavar="ID", help="name of the task")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--template", type=Path, metavar="YAML", help="prompt template")
    kind.add_argument("--harness", metavar="NAME", help="a task or group that the harness ships")
    parser.add_argument("--language", help="words of a template that serves every language")
    parser.add_argument("--shots", type=int, help="examples in the prompt, this task's own number")
    data = parser.add_mutually_exclusive_group()
    data.add_argument("--data", type=Path, metavar="FILE", help="local rows, .jsonl or .jsonl.gz")
    data.add_argument("--hub", metavar="ID", help="data set on the Hub")
    parser.add_argument("--name", help="configuration of the Hub data set")
    parser.add_argument("--split", help="split of the Hub data set")
    parser.add_argument("--revision", help="commit of the Hub data set")
    parser.add_argument("--out", required=True, type=Path, metavar="YAML")
    return parser.parse_args()


def main() -> None:
    """Build the task and write it."""
    options = parse()
    from revocab.evaluation.tasks import HubData, at_commit, build_task, write_task
    from revocab.output import check_files

    check_files(options.out, inputs=[options.template, options.data])
    if options.harness:
        if options.data or options.hub:
            raise RevocabError(
                "--harness: such a task brings its own data; leave out --data, --hub"
            )
        own = {"num_fewshot": options.shots, "revision": options.revision}
        marker = {"harness": options.harness}
        write_task(options.out, marker | {key: one for key, one in own.items() if one is not None})
        return
    hub = (
        HubData(options.hub, options.name, options.split, options.revision) if options.hub else None
    )
    config = build_task(
        options.task,
        options.template,
        data=options.data,
        hub=hub,
        language=options.language,
        shots=options.shots,
    )
    write_task(options.out, at_commit(config))


if __name__ == "__main__":
    run(main)
