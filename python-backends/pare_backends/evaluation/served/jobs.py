"""Requests to a server, some at a time, each answer kept as it comes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.served.client import ServedClient
from pare_backends.failures import CallFailure

T = TypeVar("T")
HEARTBEAT_SECONDS = 10.0
"""How often what is done is told while no answer comes: a bar then shows that it is asked for. It
proves no life: only an answer does."""


@dataclass(frozen=True)
class Job(Generic[T]):
    """One request. `asked` is all that its answer depends on beside server and model; `name` is
    the context and continuation that lm-eval knows it by."""

    name: tuple[str, str]
    asked: Any
    compute: Callable[[], T]


def answer_all(
    client: ServedClient, answers: Answers, jobs: Sequence[Job[T]], report: Callable[[int], None]
) -> list[tuple[T, float]]:
    """Each job's answer with its seconds, in the jobs' order. What was answered earlier is not
    asked again, so that an evaluation that was killed goes on there. The first failure ends all;
    `report` is told how many are done."""
    stop = threading.Event()
    served = [client.base_url, client.model]

    def answer(job: Job[T]) -> tuple[T, float]:
        if stop.is_set():
            raise CallFailure("cancelled", "Another request failed")
        return answers.once([*served, job.asked], 1, job.compute)

    found: dict[int, tuple[T, float]] = {}
    with ThreadPoolExecutor(client.endpoint.concurrency) as pool:
        numbers = {pool.submit(answer, job): number for number, job in enumerate(jobs)}
        waiting: set[Future[tuple[T, float]]] = set(numbers)
        try:
            while waiting:
                done, waiting = wait(waiting, HEARTBEAT_SECONDS, FIRST_COMPLETED)
                found.update((numbers[future], future.result()) for future in done)
                report(len(found))
        except BaseException:
            stop.set()
            with client.transport.ended():
                pool.shutdown(cancel_futures=True)
            raise
    return [found[number] for number in range(len(jobs))]
