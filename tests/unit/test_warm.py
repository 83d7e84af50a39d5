"""Jobs that are forks of one process with the slow imports made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest
from waiting import wait_until

from revocab.workflow import warm

JOB = [sys.executable, "-m", "revocab"]
#: A job that lasts until its standard input is closed, and then fails: it holds no job.
WAITING = ["count_parameters", "--job", "x", "--out", "x", "--options", "-"]
SERVER = "from revocab.workflow import warm; warm.SLOW = (); warm.main()"

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux alone has pidfd_open")


@pytest.fixture
def folder(tmp_path_factory):
    """Return where the process listens; paths of sockets are short."""
    return tmp_path_factory.mktemp("warm") / "folder"


@pytest.fixture
def environment(folder):
    return {**os.environ, "OMP_NUM_THREADS": "2", warm.FOLDER: str(folder)}


@pytest.fixture
def server(folder, environment):
    """Start a process that has loaded nothing slow; yield it when it listens."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, env=environment
    ) as process:
        wait_until(lambda: any(folder.glob("*")), process)
        yield process
        process.stdin.close()


def start(words, environment) -> subprocess.Popen:
    """Start a job with pipes for its streams."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*JOB, *words], env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


def forks(server) -> list[psutil.Process]:
    """Return the jobs that run as forks."""
    return psutil.Process(server.pid).children()


def wait_for_fork(server, job) -> psutil.Process:
    """Return the only fork when it runs."""
    wait_until(lambda: bool(forks(server)), job)
    (fork,) = forks(server)
    return fork


@pytest.mark.parametrize("words", [["--version"], ["no-such-verb"], WAITING])
def test_a_fork_says_and_returns_what_a_job_of_its_own_does(words, server, environment):
    alone = {name: text for name, text in environment.items() if name != warm.FOLDER}
    done = [start(words, variables) for variables in (environment, alone)]
    said = [(*job.communicate("nothing"), job.returncode) for job in done]
    assert said[0] == said[1]
    assert said[0][0] or said[0][1]


def test_the_job_is_the_process_that_was_forked(server, environment, tmp_path):
    job = subprocess.Popen([*JOB, *WAITING], env=environment, stdin=subprocess.PIPE, cwd=tmp_path)
    fork = wait_for_fork(server, job)
    wait_until(lambda: fork.cwd() == str(tmp_path), job)
    job.communicate()
    assert job.returncode == 2
    assert not forks(server)


@pytest.mark.parametrize("change", ["MKL_CBWR", "HF_HOME"])
def test_another_environment_runs_by_itself(change, server, environment):
    job = start(WAITING, {**environment, change: "3"})
    assert "options" in job.communicate()[1]
    assert not forks(server)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_job_ends_with_what_started_it(number, server, environment):
    job = start(WAITING, environment)
    fork = wait_for_fork(server, job)
    job.send_signal(number)
    assert job.wait() == (128 + number if number == signal.SIGTERM else -number)
    fork.wait()
    assert start(["--version"], environment).wait() == 0


def test_a_signal_that_comes_at_once_is_not_lost(server, environment):
    """Sent while the fork still has what the process made of signals."""
    for _ in range(20):
        job = start(WAITING, environment)
        fork = wait_for_fork(server, job)
        fork.send_signal(signal.SIGTERM)
        assert job.wait(30) == 128 + signal.SIGTERM


def test_a_killed_fork_is_a_killed_job(server, environment):
    job = start(WAITING, environment)
    wait_for_fork(server, job).kill()
    assert job.wait() == 128 + signal.SIGKILL


def test_a_killed_server_is_told(server, environment):
    job = start(WAITING, environment)
    fork = wait_for_fork(server, job)
    server.kill()
    assert "run the same command again" in job.communicate()[1]
    assert job.returncode == 1
    fork.wait()  # the job has ended, too


def test_jobs_outlive_snakemake_and_the_server_ends_with_the_last(server, environment, folder):
    job = start(WAITING, environment)
    wait_for_fork(server, job)
    server.stdin.close()
    late = start(["--version"], environment)
    assert late.wait() == 0
    assert server.poll() is None
    job.communicate()
    assert server.wait() == 0
    assert not folder.exists()


def test_without_a_server_a_job_runs_by_itself(environment):
    assert start(["--version"], environment).communicate()[0].startswith("revocab")
