"""What profiles say of training, and how it is started."""

from __future__ import annotations

import pytest

from revocab.errors import RevocabError
from revocab.workflow.launch import (
    described,
    launcher,
    layout,
    nodes_and_tasks,
    rehearsed,
    resources_of,
    starter,
)


def test_resources_of_a_rule(tmp_path):
    (tmp_path / "config.yaml").write_text(
        "default-resources: {runtime: 120 * attempt, gpu: 0}\n"
        "set-resources: {adapt_model: {gpu: 4, fsdp: 1}, other: {gpu: 9}}\n"
        "set-threads: {adapt_model: 16}\n"
    )
    assert resources_of(tmp_path, "adapt_model") == {
        "runtime": "120 * attempt", "gpu": 4, "fsdp": 1, "threads": 16
    }  # fmt: skip
    assert resources_of(tmp_path, "pack_tokens") == {"runtime": "120 * attempt", "gpu": 0}


def test_default_resources_may_be_a_list(tmp_path):
    (tmp_path / "config.yaml").write_text("default-resources: [gpu=1, accelerate=one-cpu]\n")
    assert resources_of(tmp_path, "adapt_model") == {"gpu": 1, "accelerate": "one-cpu"}


@pytest.mark.parametrize("profile", ["default", "one-gpu", "one-node", "slurm"])
def test_shipped_profiles_are_read(repository, profile):
    found = resources_of(repository / "profiles" / profile, "adapt_model")
    assert ("micro_batch" in found) == (profile == "slurm")


def test_what_is_no_profile(tmp_path):
    with pytest.raises(RevocabError, match=r"config\.yaml: no such file; give a folder"):
        resources_of(tmp_path, "adapt_model")
    (tmp_path / "config.yaml").write_text("a: [")
    with pytest.raises(RevocabError, match="not valid YAML"):
        resources_of(tmp_path, "adapt_model")


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ({}, []),
        ({"gpu": 1}, []),
        (
            {"gpu": 4},
            ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4",
             "--shutdown-timeout", "270"],
        ),
        ({"gpu": 8, "nodes": 2, "accelerate": "fsdp-one-node"}, []),
        (
            {"gpu": 8, "accelerate": "fsdp-one-node"},
            [
                "-m", "accelerate.commands.launch", "--config_file",
                "config/accelerate/fsdp-one-node.yaml", "--num_processes", "8",
            ],
        ),
    ],
)  # fmt: skip
def test_how_training_starts(resources, words):
    assert launcher(resources) == words


@pytest.mark.parametrize(
    ("resources", "batch", "expected"),
    [
        ({"gpu": 8}, 64, (1, 8)), ({"gpu": 8}, 12, (1, 6)), ({"gpu": 8}, 7, (1, 7)),
        ({"gpu": 8}, 13, (1, 1)), ({}, 64, (1, 1)), ({"gpu": 64, "nodes": 16}, 128, (16, 4)),
        ({"gpu": 64, "nodes": 16}, 500, (5, 4)), ({"gpu": 64, "nodes": 16}, 2, (1, 2)),
    ],
)  # fmt: skip
def test_a_batch_is_divided_evenly_among_as_many_processes_as_it_can_be(resources, batch, expected):
    assert layout(resources, batch) == expected
    assert layout(resources) == nodes_and_tasks(resources)
    alone = "nodes" not in resources
    assert launcher(resources, batch)[4:5] == (
        [str(expected[1])] if alone and expected[1] > 1 else []
    )


@pytest.mark.parametrize("resources", [{}, {"gpu": 4}, {"gpu": 4, "nodes": 1}])
def test_one_node_needs_no_srun(resources):
    assert starter(resources) == []


def test_several_nodes_start_a_task_for_each_gpu():
    expected = "srun --overlap --kill-on-bad-exit=1 --nodes 16 --ntasks-per-node 4"
    assert starter({"gpu": 64, "nodes": 16}) == expected.split()
    assert starter({"gpu": 64, "nodes": 16, "threads": 9})[-2:] == ["--cpus-per-task", "9"]
    assert starter({"nodes": 2})[-2:] == ["--ntasks-per-node", "1"]


def test_the_gpus_of_all_nodes_are_counted_together():
    """As Slurm's executor asks for them (``--gpus``)."""
    with pytest.raises(RevocabError, match=r"gpu: 4 with nodes: 16; .* such as 64 for 4 on each"):
        starter({"gpu": 4, "nodes": 16})


@pytest.mark.parametrize(
    ("environment", "expected", "said"),
    [
        ({}, {"nodes": 1, "gpu": 4, "fsdp": 1}, "by torchrun, 4 on this machine"),
        ({"SLURM_JOB_NUM_NODES": "15"}, {"nodes": 1, "gpu": 4, "fsdp": 1}, "by torchrun, 4"),
        (
            {"SLURM_JOB_NUM_NODES": "16"}, {"nodes": 16, "gpu": 64, "fsdp": 1},
            "by srun, 4 on each of 16 nodes of this allocation",
        ),
    ],
)  # fmt: skip
def test_nodes_are_rehearsed_where_there_are_as_many(environment, expected, said):
    found = rehearsed({"nodes": 16, "gpu": 64, "fsdp": 1}, environment)
    assert found == expected and described(found).startswith(said)


def test_one_node_is_rehearsed_as_it_is():
    assert rehearsed({"gpu": 8}, {}) == {"gpu": 8} and described({}) == "alone"
    assert described({"gpu": 8, "accelerate": "one-gpu"}) == "by accelerate, 8 on this machine"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [({}, (1, 1)), ({"gpu": 0}, (1, 1)), ({"gpu": 4}, (1, 4)), ({"nodes": 2, "gpu": 8}, (2, 4))],
)
def test_processes_are_those_of_all_nodes(resources, expected):
    assert nodes_and_tasks(resources) == expected
