"""Threads of llama.cpp beside other processes."""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
import pytest

from pare_backends.runtimes import sequence_scorer
from pare_backends.runtimes.thread_count import EVERY, ThreadCount


def test_a_quiet_machine_has_all_threads() -> None:
    quiet = ThreadCount(8, lambda: False)
    assert {quiet.choose() for _ in range(3 * EVERY)} == {8}


def test_beside_others_the_fastest_is_taken_and_the_rest_tried_now_and_then() -> None:
    busy = [True]
    own = ThreadCount(8, lambda: busy[0])
    seconds = {8: 0.3, 4: 0.2, 1: 0.05}
    taken = []
    for _ in range(5 * EVERY):
        taken.append(own.choose())
        own.took(taken[-1], seconds[taken[-1]])
    assert taken[:3] == [8, 4, 1]
    assert taken.count(1) == 5 * EVERY - 2 - 4, "four looks at the others"
    seconds[4] = 0.001  # the others have gone, but for one
    for _ in range(4 * EVERY):
        taken.append(own.choose())
        own.took(taken[-1], seconds[taken[-1]])
    assert taken[-2:] == [4, 4]
    busy[0] = False
    assert own.choose() == 8


def test_one_thread_is_one() -> None:
    own = ThreadCount(1, lambda: True)
    for _ in range(2 * EVERY):
        assert own.choose() == 1
        own.took(1, 0.1)


class StandIn:
    """A decoder that notes with how many threads it computes, and is slower with more of them."""

    threads, context_tokens = 4, 1024

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.clock = 0.0

    def compute_with(self, threads: int) -> None:
        self.taken.append(threads)

    def keep(self, length: int) -> int:
        return length

    def append(self, tokens: np.ndarray, wanted: int) -> np.ndarray:
        self.clock += 0.002 * self.taken[-1]
        return np.zeros((wanted, 8), np.float32)


def test_an_evaluation_beside_others_takes_fewer_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    load = [99.0]
    monkeypatch.setattr(os, "getloadavg", lambda: (load[0], 0.0, 0.0))
    own = StandIn()
    monkeypatch.setattr(sequence_scorer, "time", SimpleNamespace(perf_counter=lambda: own.clock))
    scores = sequence_scorer.SequenceScorer(own)
    tokens = np.arange(3)
    for token in range(10):
        scores.logits(tokens, 1)
        tokens = np.append(tokens, token)
    assert own.taken == [4, 4, 2, 1, 1, 1, 1, 1, 1, 1], "the prompt's own count is another"
    load[0] = 0.0
    scores.logits(tokens, 1)
    assert own.taken[-1] == 4
