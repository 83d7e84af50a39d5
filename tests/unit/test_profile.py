"""How training is started on the machine that a profile describes."""

from __future__ import annotations

import pytest

from revocab.errors import RevocabError
from revocab.workflow.launch import launcher, layout, nodes_and_tasks, starter


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
                "profiles/accelerate/fsdp-one-node.yaml", "--num_processes", "8",
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
        ({"gpu": 8}, 13, (1, 1)), ({}, 64, (1, 1)), ({"gpu": 0}, 64, (1, 1)),
        ({"gpu": 64, "nodes": 16}, 128, (16, 4)),
        ({"gpu": 64, "nodes": 16}, 500, (5, 4)), ({"gpu": 64, "nodes": 16}, 2, (1, 2)),
        ({"nodes": 2, "gpu": 8}, 64, (2, 4)),
    ],
)  # fmt: skip
def test_a_batch_is_divided_evenly_among_as_many_processes_as_it_can_be(resources, batch, expected):
    assert layout(resources, batch) == expected
    assert layout(resources) == nodes_and_tasks(resources)
    alone = "nodes" not in resources
    assert launcher(resources, batch)[4:5] == (
        [str(expected[1])] if alone and expected[1] > 1 else []
    )


def test_several_nodes_start_a_task_for_each_gpu():
    expected = "srun --overlap --kill-on-bad-exit=1 --nodes 16 --ntasks-per-node 4"
    assert starter({"gpu": 64, "nodes": 16}) == expected.split()
    assert starter({"gpu": 64, "nodes": 16, "threads": 9})[-2:] == ["--cpus-per-task", "9"]
    assert starter({"nodes": 2})[-2:] == ["--ntasks-per-node", "1"]
    assert starter({}) == starter({"gpu": 4, "nodes": 1}) == []


def test_the_gpus_of_all_nodes_are_counted_together():
    """As Slurm's executor asks for them (``--gpus``)."""
    with pytest.raises(RevocabError, match=r"gpu: 4 with nodes: 16; .* such as 64 for 4 on each"):
        starter({"gpu": 4, "nodes": 16})
