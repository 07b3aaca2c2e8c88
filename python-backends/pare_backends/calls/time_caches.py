"""Call `time_caches`: speed and bytes of a runtime's cache under several settings, by the length of
the prompt, each in turn with the full cache."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pare_backends.failures import CallFailure
from pare_backends.measuring.cache_timing import Asked, cache_row, in_turn, room
from pare_backends.measuring.quiet import timing_lock, wait_until_quiet
from pare_backends.progress import Report
from pare_backends.runtimes.cache_session import Caches, CacheSession
from pare_backends.runtimes.registry import add_runtime, open_caches


@dataclass(frozen=True)
class CacheSetting:
    """A setting by its name."""

    name: str
    params: dict[str, Any]


@dataclass(frozen=True)
class TimeCachesRequest:
    """`time_caches` of the wire."""

    runtime: str
    artifact_dir: str
    form_dir: str
    settings: list[CacheSetting]
    """The first keeps everything: each other is measured in turn with it."""
    contexts: list[int]
    new_tokens: int
    turn_tokens: int
    passes: int
    seed: int
    runtime_dir: str | None = None
    """Of a third party's runtime: the folder of its Python half."""


def run(request: TimeCachesRequest, report: Report) -> dict[str, Any]:
    """The result of `core/calls/declared/time_caches.ts`."""
    add_runtime(request.runtime, request.runtime_dir)
    config = json.loads((Path(request.artifact_dir) / "config.json").read_text())
    asked = Asked(
        request.contexts, request.new_tokens, request.turn_tokens, request.passes,
        request.seed, int(config["vocab_size"]),
    )  # fmt: skip
    check(asked, int(config["max_position_embeddings"]))
    with timing_lock(report):
        with report.span("load", library=True):
            caches = open_caches(
                request.runtime, request.artifact_dir, request.form_dir, report.threads
            )
        with caches:
            load = os.getloadavg()[0]
            told = measure(caches, request, asked, report)
            return {
                **told,
                "version": caches.version,
                "bytes_method": caches.bytes_method,
                "threads": report.threads,
                "load_average": load,
            }


def check(asked: Asked, reads: int) -> None:
    """Refuses what cannot be measured, before anything is loaded. reads: tokens, of the model"""
    if min(asked.new_tokens, asked.turn_tokens, asked.passes) < 1:
        raise CallFailure(
            "bad_input",
            f"Cannot time a cache with {asked.new_tokens} new tokens in turns of"
            f" {asked.turn_tokens} and {asked.passes} passes: each must be at least 1",
        )
    if min(asked.contexts) < 1 or room(asked) > reads:
        raise CallFailure(
            "bad_input",
            f"Cannot time a cache with prompts of {min(asked.contexts)} to {max(asked.contexts)}"
            f" tokens and {asked.new_tokens} new ones: the model reads {reads}",
            hint="Give shorter contexts",
        )


def measure(
    caches: Caches, request: TimeCachesRequest, asked: Asked, report: Report
) -> dict[str, Any]:
    """Rows of every setting; one that fails is said to have, and the next one is measured."""
    first, *others = request.settings
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    pairs = len(others) * len(asked.contexts) * asked.passes
    done = 0

    def one_more() -> None:
        nonlocal done
        done += 1
        report.progress("caches", done, pairs, "pairs")

    full = caches.open(first.params, room(asked))
    numerics = {first.name: asdict(full.numerics)}
    wait_until_quiet(report)
    for setting in others:
        reason = caches.obstacle(setting.params)
        if reason is None:
            try:
                own = caches.open(setting.params, room(asked))
                with report.span("caches", library=True):
                    rows += of_setting(setting.name, own, full, asked, one_more)
                numerics[setting.name] = asdict(own.numerics)
                own.close()
            except CallFailure as failure:
                reason = failure.message
        if reason is not None:
            refused.append({"setting": setting.name, "reason": reason})
    full.close()
    return {"caches": rows, "refused": refused, "numerics": numerics}


def of_setting(
    name: str, own: CacheSession, full: CacheSession, asked: Asked, told: Any
) -> list[dict[str, Any]]:
    """A row a length of the prompt."""
    return [
        cache_row(name, tokens, asked, *in_turn(own, full, asked, tokens, told))
        for tokens in asked.contexts
    ]
