"""When a state is saved, how a micro batch shrinks, when a loss has jumped: the decisions alone."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from revocab import io
from revocab.errors import RevocabError
from revocab.training.loop import LossWatch
from revocab.training.resume_state import Request, Saving
from revocab.training.run import MICRO_BATCH, MicroBatch


class Time:
    """A clock that is set by hand, in seconds."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def test_minutes_count_from_the_last_state():
    time = Time()
    saving = Saving(minutes=2, clock=time)
    assert saving.own() == Request.NOTHING
    time.now += 119
    assert saving.own() == Request.NOTHING
    time.now += 1
    assert [saving.own(), saving.own()] == [Request.SAVE, Request.NOTHING]
    time.now += 100
    saving.saved()  # at a checkpoint
    time.now += 119
    assert saving.own() == Request.NOTHING
    time.now += 2
    assert saving.own() == Request.SAVE
    never = Saving(clock=time, keeps_time=False)
    time.now += 1e9
    assert never.own() == Request.NOTHING


@pytest.mark.parametrize(
    ("saving_seconds", "step", "first"),
    [(1.0, 7.0, 8), (1.0, 20.0, 3), (10.0, 7.0, 11), (1.0, 90.0, 1)],
)
def test_by_default_a_kill_costs_a_minute_or_eight_times_what_saving_takes(
    saving_seconds, step, first
):
    time = Time()
    saving = Saving(clock=time)
    saving.saved(saving_seconds)
    requests = []
    for _ in range(first):
        time.now += step
        requests.append(saving.own())
    assert requests == [Request.NOTHING] * (first - 1) + [Request.SAVE]
    assert step >= 60 or first * step <= max(60, 8 * saving_seconds)


def test_signals_ask_within_the_block_only():
    saving = Saving()
    before = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGTERM)}
    with saving.listening():
        os.kill(os.getpid(), signal.SIGUSR1)
        assert [saving.own(), saving.own()] == [Request.SAVE, Request.NOTHING]
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGUSR1)
        assert [saving.own(), saving.own()] == [Request.STOP, Request.STOP]
    assert {number: signal.getsignal(number) for number in before} == before


@pytest.mark.parametrize(
    ("before", "signalled", "expected"),
    [([], signal.SIGUSR1, Request.SAVE), ([signal.SIGUSR1], signal.SIGTERM, Request.STOP)],
)
def test_no_signal_is_lost_while_signals_are_read(before, signalled, expected):
    """Python may call a handler before every instruction."""

    def requested(instruction: int) -> tuple[bool, Request]:
        """Return whether there is such an instruction, and what is asked for then or next."""
        saving, count = Saving(), 0
        for number in before:
            saving._note(number, None)

        def trace(frame, event, argument):
            nonlocal count
            frame.f_trace_opcodes = True
            if event == "opcode":
                count += 1
                if count == instruction:
                    saving._note(signalled, None)
            return trace

        others = sys.gettrace()
        sys.settrace(trace)
        try:
            first = saving.own()
        finally:
            sys.settrace(others)
        return count >= instruction, max(first, saving.own())

    instruction = 1
    while (found := requested(instruction))[0]:
        assert found[1] == expected, instruction
        instruction += 1
    assert instruction > 10


def test_a_thread_trains_without_signals():
    def train():
        with Saving().listening():
            done.append(signal.getsignal(signal.SIGTERM))

    done, before = [], signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert done == [before]


def test_the_record_holds_for_the_same_request_and_processes(tmp_path):
    micro = MicroBatch(share=8, size=8, requested=None, processes=1, root=tmp_path)
    assert micro.recorded() is None
    assert micro.halve() == "out of memory with 8 sequences per forward pass; going on with 4"
    assert micro.size == 4 and micro.recorded() == 4
    assert MicroBatch(8, 8, None, 1, tmp_path).recorded() == 4
    assert MicroBatch(8, 8, 8, 1, tmp_path).recorded() is None
    assert MicroBatch(8, 8, None, 2, tmp_path).recorded() is None
    record = {"requested": None, "processes": 1, "micro_batch": 4}
    assert io.read_json(tmp_path / MICRO_BATCH) == record


@pytest.mark.parametrize(
    ("size", "processes", "said", "kept"),
    [
        (8, 2, "8 sequences per forward pass; run .* state with 4", 4),
        (1, 1, "out of memory with one sequence", None),
    ],
)
def test_what_cannot_go_on_says_so(tmp_path, size, processes, said, kept):
    micro = MicroBatch(share=8, size=size, requested=8, processes=processes, root=tmp_path)
    with pytest.raises(RevocabError, match=said):
        micro.halve()
    assert micro.recorded() == kept


def test_a_loss_that_jumps():
    watch = LossWatch(rise=1.0)
    for step in range(1, 21):
        watch.check(step, 0, 3.0 + 0.9 * (step % 2))  # mean 3.45
    with pytest.raises(RevocabError, match=r"step 21: loss 4\.4600 is 1\.0100 above the mean"):
        watch.check(21, 0, 4.46)
    watch.check(21, 0, 4.44)
    LossWatch().check(22, 0, 1e9)


def test_a_new_stage_and_the_first_steps_are_compared_with_nothing():
    watch = LossWatch(rise=0.1)
    for step in range(1, 10):
        watch.check(step, 0, float(step))
    watch.check(10, 1, 50.0)
    for step in range(11, 20):
        watch.check(step, 1, 50.0)
    with pytest.raises(RevocabError, match=r"stop_at_rise allows 0\.1"):
        watch.check(20, 1, 50.2)
