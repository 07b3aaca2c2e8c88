"""Threads of llama.cpp beside other processes."""

from __future__ import annotations

from pare_backends.runtimes.llama_cpp.thread_count import EVERY, ThreadCount


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
