"""A file of per-sample results: Parquet, one row per sample, in the order of the tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pare_backends.evaluation.outcome import SampleResult, TaskOutcome
from pare_backends.evaluation.scoring.programs import cut_programs, has_programs
from pare_backends.models.whole_file import put_in_place

NUMBERS = (
    *("score", "chance", "log_likelihood", "seconds", "kl"),
    *("kept_tokens", "kv_bytes"),  # bytes beyond 32 bits; a float has them whole
)
TEXTS = (
    *("task", "sample_id", "sample_hash", "prompt_hash", "stratum"),
    *("answer", "parsed_answer", "gold"),
)
COUNTS = ("answer_length", "chosen", "cut_tokens", "tokens", "stratum_rows", "context_tokens")

PLACED = 8
"""Samples of a task whose kept places are stored: a number for each part of each layer."""


def write_samples(path: Path, outcomes: Iterable[TaskOutcome], answer_chars: int) -> None:
    """Writes the samples of every task, `answer_chars` of each answer; the file is there whole or
    not at all."""
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema(
        [(name, pyarrow.string()) for name in TEXTS]
        + [(name, pyarrow.float64()) for name in NUMBERS]
        + [(name, pyarrow.int32()) for name in COUNTS]
        + [("choice_log_likelihoods", pyarrow.list_(pyarrow.float64()))]
        + [("greedy", pyarrow.list_(pyarrow.bool_()))]
        + [("kept_places", pyarrow.list_(pyarrow.int32()))]
    )
    rows = [
        _row(
            sample if n < PLACED else replace(sample, kept_places=None),
            answer_chars,
            has_programs(outcome.task),
        )
        for outcome in outcomes
        for n, sample in enumerate(outcome.samples)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), partial)
    put_in_place(partial, path)


def _row(sample: SampleResult, answer_chars: int, programs: bool) -> dict[str, Any]:
    """A parsed answer is the whole generation where a task has no rule: it is cut as well. Several
    programs are a JSON list, and stay one: each of them is an answer."""
    row = asdict(sample)
    del row["beside"]
    row["answer_length"] = None if sample.answer is None else len(sample.answer)
    for name in ("answer", "parsed_answer"):
        kept = None if answer_chars == 0 else row[name]
        row[name] = None if kept is None else kept[:answer_chars]
    if programs and answer_chars > 0 and sample.answer is not None:
        row["answer"] = cut_programs(sample.answer, answer_chars)
    return row
