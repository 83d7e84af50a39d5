"""Beam search and drawing: transformers' own, and refused where there is neither."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
import torch
from evaluation_toys import write_model

from revocab.corpora.answers.options import AnswerJob
from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import load_generator
from revocab.evaluation.inference.decoding import Decoding, TextGenerator
from revocab.evaluation.inference.engine import choose_engine, engines_for
from revocab.evaluation.inference.engines.transformers import seed_of
from revocab.evaluation.options import Generating

DRAWN = {"temperature": 0.6, "top_p": 0.9, "top_k": 50}
NEW = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("decoding") / "model", context_length=64)


@pytest.fixture(scope="module")
def prompts():
    generator = torch.Generator().manual_seed(5)
    lengths = torch.randint(2, 20, (12,), generator=generator).tolist()
    return [torch.randint(40, 90, (n,), generator=generator).tolist() for n in lengths]


def load(folder, batch_size=8, **decoding):
    options = Generating(
        max_new_tokens=NEW, context_length=64, batch_size=batch_size, decoding=decoding
    )
    engine = choose_engine("transformers", "generation")
    return load_generator(folder, engine, options)


def written(generator, prompts) -> list[list[int]]:
    return [list(output.ids) for output in generator.generate(prompts, NEW, None)]


@pytest.mark.parametrize(
    ("batch_size", "decoding"),
    [(1, {"beams": 5}), (8, {"beams": 5}), (1, {"beams": 5, **DRAWN}), (1, DRAWN)],
)
def test_prompts_are_continued_as_transformers_does(folder, prompts, batch_size, decoding):
    """What is drawn is drawn for one prompt at a time, whatever the batch."""
    ours = load(folder, batch_size=batch_size, **decoding)
    expected = []
    for prompt in prompts:
        torch.manual_seed(seed_of(17, prompt))
        made = ours.model.generate(
            torch.tensor([prompt]),
            num_beams=decoding.get("beams", 1),
            do_sample="temperature" in decoding,
            **{key: value for key, value in decoding.items() if key != "beams"},
            max_new_tokens=NEW,
            eos_token_id=ours.eos,
            pad_token_id=ours.eos[0],
        )[0, len(prompt) :].tolist()
        end = next((at for at, token in enumerate(made) if token in ours.eos), len(made))
        expected.append(made[: end + 1])
    assert written(ours, prompts) == expected
    greedy = written(load(folder), prompts)
    assert sum(a != b for a, b in zip(greedy, expected, strict=True)) > 2


def test_what_is_drawn_depends_on_the_prompt_and_the_seed_alone(folder, prompts):
    once = written(load(folder, **DRAWN), prompts)
    assert written(load(folder, **DRAWN), prompts[::-1]) == once[::-1]
    assert written(load(folder, **DRAWN, seed=18), prompts) != once


def test_drawing_leaves_the_generator_of_others_as_it_was(folder, prompts):
    before = torch.random.get_rng_state()
    written(load(folder, **DRAWN), prompts[:2])
    assert torch.equal(torch.random.get_rng_state(), before)


UNABLE = [name for name, engine in engines_for("generation").items() if not engine.decodes]


@pytest.mark.parametrize("engine", UNABLE)
@pytest.mark.parametrize("options", [Generating, AnswerJob])
@pytest.mark.parametrize("decoding", [{"beams": 2}, {"temperature": 1.0}])
def test_an_engine_without_it_refuses_by_name(engine, options, decoding):
    with pytest.raises(ValueError, match=f"{engine} decodes greedily alone; .* transformers"):
        options(engine=engine, decoding=decoding)


DRAWS_NOTHING = [{"top_p": 0.9}, {"top_k": 5}]
OUT_OF_RANGE = [{"beams": 0}, {"temperature": 0}, {"temperature": 1, "top_p": 2}]


@pytest.mark.parametrize("decoding", [*DRAWS_NOTHING, *OUT_OF_RANGE])
def test_what_says_nothing_is_refused(decoding):
    with pytest.raises(ValueError, match=r"beams|temperature|top_p"):
        Decoding(**decoding)


def test_greedy_is_written_as_before():
    assert "decoding" not in Generating().model_dump()
    assert Generating(decoding={"beams": 5}).model_dump()["decoding"]["beams"] == 5


# Engines: adding one takes one file; the rest of the package knows none by name -------------------


class Writer(TextGenerator):
    """An engine that does no more than an engine must."""

    def generate(self, prompts, max_new_tokens, stop):
        return []


@pytest.mark.parametrize(
    ("name", "words"), [("run", ([[1]], 2)), ("log_probabilities", ([1], [[2]]))]
)
def test_what_an_engine_lacks_is_refused_with_one_that_has_it(name, words):
    with pytest.raises(RevocabError, match=r"Writer .* transformers"):
        getattr(Writer(), name)(*words)


#: Prints what the text of each engine is made from.
HASHES = """
from pathlib import Path

from revocab.evaluation.inference.engine import engines
from revocab.evaluation.generation.generate import Finished
from revocab.evaluation.options import Generating

for name in ("transformers", "vllm"):
    print(Finished(Path("nowhere"), engines()[name], Generating()).shared["code"])
"""


@pytest.mark.long  # three processes, each with all imports
def test_records_know_the_code_of_their_engine_and_no_other(repository, tmp_path):
    """Another engine's file makes no text again; a change of one's own does."""

    def hashes() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", HASHES],
            env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    shutil.copytree(repository / "src/revocab", tmp_path / "src/revocab")
    folder = tmp_path / "src/revocab/evaluation/inference/engines"
    before = hashes()
    file = folder / "vllm.py"
    content = file.read_text(encoding="utf-8")
    (folder / "other.py").write_text(content.replace('name="vllm"', 'name="other"', 1), "utf-8")
    assert hashes() == before != before[::-1]
    file.write_text(content + "CPU_SEQUENCES = 33\n", encoding="utf-8")
    after = hashes()
    assert after[0] == before[0] and after[1] != before[1]
