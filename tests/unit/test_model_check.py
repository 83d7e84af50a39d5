"""`revocab check`: planted faults are all found by name, and sound folders raise no alarm."""

from __future__ import annotations

import shutil

import pytest
import torch
from planted_faults import BASES, FAULTS, Fault
from safetensors.torch import load_file
from sound_models import SOUND, write_sound
from toy_folders import adapt, initialise, load

from revocab import __main__ as entry
from revocab.io import sha256, write_text
from revocab.models.findings import Finding
from revocab.product.check.check import line_of
from revocab.product.check.kind import look_at
from revocab.vocabulary.tokenizers.load import load_tokenizer


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bases")
    for name, sound in BASES.items():
        write_sound(sound, folder / name)
        assert_sound(folder / name)
    return folder


def planted(bases, out, name):
    folder = shutil.copytree(bases / FAULTS[name].base, out / "model")
    FAULTS[name].plant(folder)
    return folder


def meant(findings: list[Finding], fault: Fault) -> list[Finding]:
    return [
        finding
        for finding in findings
        if finding.code == fault.code and all(word in finding.what for word in fault.named)
    ]


def assert_sound(folder):
    alarms = [line_of(finding) for finding in look_at(folder) if finding.severity != "note"]
    assert not alarms, alarms


def hashes(folder):
    return {path.name: sha256(path) for path in folder.iterdir() if path.is_file()}


# Faults. -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_by_name(bases, tmp_path, name):
    fault = FAULTS[name]
    found = meant(look_at(planted(bases, tmp_path, name)), fault)
    assert found and all(finding.effect and finding.mend for finding in found)
    assert all((finding.fix is not None) == fault.mended for finding in found)
    assert all(len(line_of(finding).splitlines()) == 1 for finding in found)


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.mended])
def test_what_needs_no_guess_is_mended_in_a_copy(bases, tmp_path, name, capsys):
    folder, out = planted(bases, tmp_path, name), tmp_path / "mended"
    before = hashes(folder)
    entry.main(["check", str(folder), "--fix", str(out)])
    assert "mended" in capsys.readouterr().out and hashes(folder) == before
    assert_sound(out)


@pytest.mark.parametrize("name", ["texts cut to a length", "texts filled to a length"])
def test_what_cuts_and_pads_texts_has_no_other_cause(bases, tmp_path, name):
    found = look_at(planted(bases, tmp_path, name))
    assert {finding.code for finding in found} == {FAULTS[name].code}


@pytest.mark.parametrize(
    ("name", "named"),
    [("an end that is a word", "2 '</s>'"), ("an end beyond the rows", "2 '</s>'"),
     ("an end in the padding", "4 '<|eot_id|>'"), ("a beginning that is a word", "1 '<s>'"),
     ("padding of minus one", "0 '<unk>'")],
)  # fmt: skip
def test_a_mend_says_which_token(bases, tmp_path, name, named):
    found = meant(look_at(planted(bases, tmp_path, name)), FAULTS[name])
    assert all(named in finding.mend for finding in found)


# Sound folders. ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_folder_raises_no_alarm(tmp_path, name):
    assert len(SOUND) >= 20
    assert_sound(write_sound(SOUND[name], tmp_path / name))


@pytest.mark.long
@pytest.mark.shared_data
def test_a_model_with_a_real_tokenizer_raises_no_alarm(tmp_path, shared_folder):
    from transformers import AutoTokenizer

    real = AutoTokenizer.from_pretrained(shared_folder / "tokenizers/mistral-7b-v0.1")
    assert_sound(write_sound(SOUND["mistral-instruct"], tmp_path / "model", real))


@pytest.mark.parametrize("method", ["fvt", "random", "sava", "clp"])
@pytest.mark.parametrize(("source", "options"), [("untied", {"pad_to": 64}), ("tied", {})])
def test_an_adapted_model_raises_no_alarm(toys, tmp_path, method, source, options):
    assert_sound(adapt(toys, tmp_path / "out", source, method, options=options))


def test_no_model_of_an_experiment_raises_an_alarm(small):
    folders = {config.parent for config in small.rglob("config.json")}
    assert len(folders) > 5
    for folder in sorted(folders):
        assert_sound(folder)


# The verb. ---------------------------------------------------------------------------------------

END = "an end of answers at which nothing stops"


def test_nothing_is_written_where_nothing_can_be_mended(bases, tmp_path, capsys):
    folder = planted(bases, tmp_path, "a head of zeros")
    with pytest.raises(SystemExit):
        entry.main(["check", str(folder), "--fix", str(tmp_path / "mended")])
    assert "not written" in capsys.readouterr().out and not (tmp_path / "mended").exists()


def test_a_copy_has_what_is_no_part_of_the_model_and_no_links_out(bases, tmp_path, capsys):
    folder, out = planted(bases, tmp_path, END), tmp_path / "mended"
    write_text(folder / "modeling.py", "raise SystemExit('code of the model was run')")
    (folder / "original").mkdir()
    entry.main(["check", str(folder), "--fix", str(out)])
    assert (out / "modeling.py").is_file() and "(without original)" in capsys.readouterr().out
    (folder / "notes.md").symlink_to(tmp_path / "mended/README.md")
    with pytest.raises(SystemExit) as ended:
        entry.main(["check", str(folder), "--fix", str(tmp_path / "again")])
    assert ended.value.code == 1 and not (tmp_path / "again").exists()
    assert capsys.readouterr().err.startswith("error: ")


# Verbs that read and write models. ---------------------------------------------------------------


def test_a_model_whose_head_has_another_name_is_adapted(tmp_path):
    """GPT-NeoX stores it as ``embed_out``."""
    source = write_sound(SOUND["pythia"], tmp_path / "source")
    out = initialise(source, tmp_path / "out", "fvt", target_tokenizer=source)
    names = load_file(out / "model.safetensors").keys()
    assert "embed_out.weight" in names and "lm_head.weight" not in names
    copied = slice(2, len(load_tokenizer(source)))  # after the special tokens
    with torch.no_grad():
        ids = torch.arange(2, 42)[None]
        expected, received = (load(model)(ids).logits[..., copied] for model in (source, out))
    assert torch.equal(received, expected)
