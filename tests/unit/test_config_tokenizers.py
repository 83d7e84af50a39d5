"""Tokenizers in an experiment file: those built from others, helpers, and vectors by token text."""

from __future__ import annotations

import pytest
import yaml
from refusals import problems

from revocab.experiment import expand, validate
from revocab.experiment.expand import compared_pairs


def test_roles_belong_to_a_tokenizer(demo):
    demo["roles"] = {"sourse": {"<tool>": "tool"}}
    assert any("roles: no tokenizer 'sourse'" in line for line in problems(demo))


# Helpers and what is compared. -------------------------------------------------------------------


def test_a_helper_may_have_another_tokenizer(demo):
    demo["models"]["helper-large"]["tokenizer"] = "source-large"
    lines = problems(demo)
    # Of the source's own tokenizer it would have no new token.
    assert len(lines) == 1 and lines[0].startswith("runs.llama.methods.sava: helper 'helper-large'")
    demo["runs"]["llama"]["helper"] = "helper-medium"
    experiment = validate(demo)
    pairs = compared_pairs(experiment, expand(experiment))
    assert pairs == dict.fromkeys([("source", "target"), ("source-large", "target")], "bytes")


def test_a_pair_of_tokenizers_is_compared_in_one_way(demo):
    demo["runs"]["llama"]["identity"] = "marker"
    validate(demo)
    # As helper of the one group and as source of the other.
    demo["models"]["helper-large"]["tokenizer"] = "source-large"
    demo["runs"]["llama"]["helper"] = "helper-medium"
    (line,) = problems(demo)
    assert line.startswith("runs.llama.identity: 'marker', but runs.mistral compares the same")
    assert "'source-large' and 'target' by 'bytes'" in line


# Auxiliary embeddings. ---------------------------------------------------------------------------


def test_fasttext_takes_the_helpers_place(demo):
    group = demo["runs"]["mistral"]
    group["methods"] = {"focus": {}, "focus-fasttext": {"method": "focus", "auxiliary": "fasttext"}}
    demo["tables"], demo["figures"] = {}, {}
    demo["auxiliary"] = {"corpora": list(demo["corpora"])[:1], "dimension": 20}
    runs = {run.id: run for run in expand(validate(demo))}
    assert runs["mistral-focus"].helper and not runs["mistral-focus"].auxiliary
    assert runs["mistral-focus-fasttext"].auxiliary
    assert runs["mistral-focus-fasttext"].helper is None
    assert validate(demo).auxiliary.epochs == 3  # FOCUS's own


def test_a_file_of_vectors_takes_the_helpers_place(demo, tmp_path):
    methods = {"similarity": {}, "named": {"method": "similarity", "auxiliary": "file"}}
    demo["runs"]["mistral"]["methods"] = methods
    demo["tables"], demo["figures"] = {}, {}
    assert any("reads a file of vectors by token text" in one for one in problems(demo))
    demo["auxiliary"] = {"vectors": "{data_root}/vectors.safetensors"}
    demo["data_root"] = str(tmp_path)
    assert any("vectors.safetensors' does not exist" in one for one in problems(demo))
    (tmp_path / "vectors.safetensors").touch()
    experiment = validate(demo)
    runs = {run.id: run for run in expand(experiment)}
    assert runs["mistral-named"].vectors and runs["mistral-named"].helper is None
    assert not runs["mistral-similarity"].vectors and runs["mistral-similarity"].helper


def test_fasttext_without_its_section_or_corpora_is_refused(demo):
    demo["runs"]["mistral"]["methods"]["focus"] = {"auxiliary": "fasttext"}
    assert any("names no text for them" in one for one in problems(demo))
    demo["auxiliary"] = {"vectors": "vectors.txt"}
    assert any("names no text for them" in one for one in problems(demo))
    demo["auxiliary"] = {"corpora": ["nowhere"]}
    assert any(one.startswith("auxiliary.corpora: no corpus 'nowhere'") for one in problems(demo))


# Tokenizers built from others. --------------------------------------------------------------------

EXTEND = {"base": "source", "corpora": {"world-it": 1.0}, "add": 64}


def with_tokenizers(demo, **tokenizers):
    return {**demo, "tokenizers": {**demo["tokenizers"], **tokenizers}}


def test_every_construction_is_a_key(demo):
    made = validate(
        with_tokenizers(
            demo,
            a={"extend": EXTEND},
            b={"replace": {"base": "a", "corpora": {"world-it": 1.0}, "share": 0.3}},
            c={"optimise": {"base": "b", "corpora": {"world-it": 1.0}, "donor": "target"}},
            d={"hub": "org/name", "revision": "main"},
        )
    ).tokenizers
    assert [made[one].construction()[0] for one in "abcd"] == [
        *("extend", "replace", "optimise", "substitute")
    ]
    _, options = made["c"].construction()
    assert dict(options.named(options.tokenizers)) == {"base": "b", "donor": "target"}
    assert made["source"].construction()[0] == "train"


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        (
            {"extend": {**EXTEND, "base": "sorce"}},
            "tokenizers.new.extend.base: no tokenizer 'sorce'",
        ),
        (
            {"extend": {**EXTEND, "corpora": {"world-fr": 1.0}}},
            "tokenizers.new.extend.corpora: no corpus 'world-fr'",
        ),
        (
            {"extend": {**EXTEND, "corpora": {"world-it": 0.7}}},
            "tokenizers.new.extend.corpora: shares sum to 0.7",
        ),
        ({"extend": {**EXTEND, "base": "new"}}, "tokenizers.new: built from itself (new from new)"),
        (
            {"extend": {**EXTEND, "ad": 5}},
            "tokenizers.new.extend.ad: unknown key (allowed: add, add_share, base, corpora, donor",
        ),
        ({"extend": {**EXTEND, "size": 5}}, "tokenizers.new.extend: exactly one of add, add_share"),
        ({"extend": EXTEND, "hub": "x/y"}, "tokenizers.new: exactly one of hub, path, adopt"),
        ({"extent": EXTEND}, "tokenizers.new.extent: unknown key"),
        ({"path": "/no/such"}, "tokenizers.new.path: '/no/such' does"),
        ({"substitute": {"path": "/no/such"}}, "tokenizers.new.substitute: unknown key"),
    ],
)
def test_wrong_tokenizers(demo, entry, wanted):
    found = problems(with_tokenizers(demo, new=entry))
    assert any(one.startswith(wanted) for one in found), found


def test_a_ring_of_tokenizers_is_one_problem(demo):
    ring = {
        "a": {"extend": {**EXTEND, "base": "b"}},
        "b": {"extend": {**EXTEND, "donor": "c", "add": "all"}},
        "c": {"replace": {"base": "a", "corpora": {"world-it": 1.0}, "share": 0.1}},
    }
    found = problems(with_tokenizers(demo, **ring))
    (problem,) = found
    assert "tokenizers.a: built from itself (a from b from c from a)" in problem


def test_examples_in_the_docs_are_valid(repository, demo):
    page = (repository / "docs/tokenizers.md").read_text()
    blocks = [part.split("```")[0] for part in page.split("```yaml\n")[1:]]
    entries = [values for values in map(yaml.safe_load, blocks) if "tokenizers" in values]
    assert len(entries) >= 3
    for values in entries:
        corpora = {**demo["corpora"], **values.get("corpora", {})}
        made = validate({**with_tokenizers(demo, **values["tokenizers"]), "corpora": corpora})
        assert values["tokenizers"].keys() <= made.tokenizers.keys()
