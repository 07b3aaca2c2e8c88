"""pare's evaluation beside lm-eval's own, over one model in memory, in turn; then what a proxy
before a full evaluation costs.

    python measure_evaluation.py request.json result.json

The request is `EvaluationRequest` of run_evaluation.ts.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from lm_eval.models.huggingface import HFLM
from plain_lm_eval import PlainTask, Round, score_windows

from pare_backends.calls import evaluate, import_model
from pare_backends.checkpoint import load_dequantized
from pare_backends.evaluation.harness import run_harness
from pare_backends.evaluation.packed.language_model import PackedLM
from pare_backends.evaluation.perplexity import TextReader, run_perplexity, windows
from pare_backends.evaluation.tasks.documents import Documents, load_documents
from pare_backends.evaluation.tasks.groups import groups_of, split_rows
from pare_backends.evaluation.tasks.wire_task import SampleSelection, WireTask
from pare_backends.progress import silent_report
from pare_backends.protocol import build

SECONDS_OF_PASSES = 30.0
"""Of both sides together on one task, after which no pass is repeated."""
SAME_SCORE = 1e-3
"""A score is a 0 or a 1, or a mean of logarithms whose last bits depend on what shares a batch."""


class Pair:
    """One task on both sides."""

    def __init__(self, asked: dict[str, Any], evaluator: PackedLM, folder: Path) -> None:
        self.task = build(WireTask, asked["task"])
        self.documents: Documents = load_documents(self.task)
        self.evaluator = evaluator
        self.model, tokenizer = evaluator.model, evaluator.tokenizer
        self.tokenizer = tokenizer
        self.perplexity = self.task.window_tokens is not None
        if self.perplexity:
            every = windows(self.task, self.documents, tokenizer)
            self.rows = drawn(range(len(every)), asked["samples"])
        else:
            self.rows = chosen(self.task, self.documents, asked)
            self.plain = PlainTask(self.task, self.documents, self.rows, folder / asked["name"])

    def ours(self, batch_size: int) -> Round:
        """One pass of pare's evaluator; nothing of an earlier one is known."""
        report = silent_report(torch.get_num_threads())
        started = time.perf_counter()
        if self.perplexity:
            text = TextReader(self.model, self.tokenizer, batch_size, report)
            outcome = run_perplexity(self.task, self.documents, self.rows, text)
        else:
            outcome = run_harness(self.task, self.documents, self.rows, self.evaluator)
        found = Round(time.perf_counter() - started, {})
        for sample in outcome.samples:
            found.scores[int(sample.sample_id)] = sample.score
        return found

    def theirs(self, batch_size: int) -> Round:
        """One pass of lm-eval."""
        lm = HFLM(pretrained=self.model, tokenizer=self.tokenizer, batch_size=batch_size)
        if not self.perplexity:
            return self.plain.run(lm)
        started = time.perf_counter()  # ours cuts the text in its time too
        every = windows(self.task, self.documents, self.tokenizer)
        return score_windows(lm, {row: every[row] for row in self.rows}, started)


def drawn(numbers: Sequence[int], count: int) -> list[int]:
    """At most `count` of them, evenly from the first on."""
    few = min(len(numbers), count)
    return [numbers[at * len(numbers) // few] for at in range(few)]


def chosen(task: WireTask, documents: Documents, asked: dict[str, Any]) -> list[int]:
    """The rows of a pass; where so many groups are asked for, alike many of each."""
    everything = range(len(documents.rows))
    if asked["groups"] is None:
        return drawn(everything, asked["samples"])
    parts = split_rows(groups_of(task.definition or {}), documents.rows, everything)
    taken = drawn(range(len(parts)), asked["groups"])
    each = asked["samples"] // len(taken)
    return sorted(row for part in taken for row in drawn(parts[part], each))


def compare(pair: Pair, request: dict[str, Any]) -> dict[str, Any]:
    """Seconds of both sides' passes, in turn, lm-eval's at the batch size that served it best."""
    ours = [pair.ours(request["own_batch_size"])]
    tried = {size: [pair.theirs(size)] for size in request["batch_sizes"]}
    best = min(tried, key=lambda size: tried[size][0].seconds)
    # A pass that takes long is not disturbed by what lasts a second.
    while (
        len(ours) < request["repeats"]
        and sum(one.seconds for one in (*ours, *tried[best])) < SECONDS_OF_PASSES
    ):
        ours.append(pair.ours(request["own_batch_size"]))
        tried[best].append(pair.theirs(best))
    own, plain = ours[0].scores, tried[best][0].scores
    assert own.keys() == plain.keys()
    return {
        "samples": len(own),
        "seconds": [one.seconds for one in ours],
        "plain_seconds": [one.seconds for one in tried[best]],
        "plain_batch_size": best,
        "tried": {str(size): rounds[0].seconds for size, rounds in tried.items()},
        "unequal": sum(abs(own[row] - plain[row]) > SAME_SCORE for row in own),
        "largest_difference": max(abs(own[row] - plain[row]) for row in own),
        "value": statistics.fmean(own.values()),
        "plain_value": statistics.fmean(plain.values()),
    }


def proxy_then_full(
    pairs: list[Pair], request: dict[str, Any], model_dir: str, folder: Path
) -> dict[str, Any]:
    """The call as a study runs it: the proxy's half of the rows and then all, beside all alone."""
    full = [SampleSelection(pair.task.task, pair.rows) for pair in pairs]
    proxy = [SampleSelection(pair.task.task, pair.rows[::2]) for pair in pairs]

    def call(fidelity: Any, rows: list[SampleSelection], answers: str) -> dict[str, Any]:
        nothing_else = dict.fromkeys(f.name for f in fields(evaluate.EvaluateRequest))
        given = {
            "artifact_dir": model_dir,
            "tasks": [pair.task for pair in pairs],
            "selections": rows,
            "fidelity": fidelity,
            "batch_size": request["own_batch_size"],
            "samples_path": str(folder / "samples.parquet"),
            "seed": 1,
            "batched_apart": [] if rows is proxy else proxy,
            "answers_path": str(folder / answers),
            "answer_chars": 1000,
            "allow_unsafe_code": False,
        }
        asked = evaluate.EvaluateRequest(**{**nothing_else, **given})
        started = time.perf_counter()
        result = evaluate.run(asked, silent_report(torch.get_num_threads()))
        seconds = time.perf_counter() - started
        return {
            "seconds": seconds,
            "requests": result["requests"],
            "reused_requests": result["reused_requests"],
            "values": [one["value"] for one in result["measurements"]],
        }

    return {
        "alone": call("full", full, "alone.jsonl"),
        "proxy": call("proxy", proxy, "both.jsonl"),
        "full": call("full", full, "both.jsonl"),
    }


def run(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The result that run_evaluation.ts reads."""
    torch.set_num_threads(request["threads"])
    facts = import_model.run(
        import_model.ImportModelRequest(request["model"], str(folder / "model"), False),
        silent_report(request["threads"]),
    )
    model, tokenizer = load_dequantized(facts["path"])
    # One for all tasks, as in a study: that packed rows agree is tried once, in the first pass.
    evaluator = PackedLM(
        model, tokenizer, request["own_batch_size"], silent_report(request["threads"])
    )
    found, pairs = {}, []
    for asked in request["tasks"]:
        pair = Pair(asked, evaluator, folder / "tasks")
        found[asked["name"]] = compare(pair, request)
        one = found[asked["name"]]
        ours, plain = min(one["seconds"]), min(one["plain_seconds"])
        print(f"{asked['name']}: {ours:.1f} s, lm-eval {plain:.1f} s", flush=True)
        if asked["proxy"]:
            pairs.append(pair)
    proxy = proxy_then_full(pairs, request, facts["path"], folder) if pairs else None
    return {"tasks": found, "proxy": proxy}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        told = run(json.loads(Path(sys.argv[1]).read_text()), Path(scratch))
    Path(sys.argv[2]).write_text(json.dumps(told))
