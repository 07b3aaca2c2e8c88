"""What an evaluation gives back for one task, and its rows as the wire has them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pare_backends.evaluation.original.figures import DistanceFigure
from pare_backends.evaluation.tasks.wire_task import WireTask

if TYPE_CHECKING:
    from pare_backends.evaluation.packed.shared_prompts import Kept


@dataclass(frozen=True)
class SampleResult:
    """One sample's outcome: `SampleResult` of `core/schemas/measurement.ts`."""

    task: str
    sample_id: str
    sample_hash: str
    prompt_hash: str
    score: float
    answer: str | None
    """What the model wrote or chose, whole; cut where it is stored."""
    gold: str | None
    log_likelihood: float | None
    seconds: float | None
    """Its share of the batches that it was computed in; None: not known."""
    chance: float | None = None
    """Score of guessing on it; None: not known."""
    stratum: str | None = None
    """Part of the benchmark that it belongs to, such as an MMLU subject."""
    stratum_rows: int | None = None
    """Rows of that part in the benchmark's data, where means weigh by them."""
    parsed_answer: str | None = None
    """What the task's rule read from the answer; None: nothing."""
    chosen: int | None = None
    """Number of the choice taken, from 0."""
    choice_log_likelihoods: tuple[float, ...] | None = None
    """Nats, of every choice in order."""
    cut_tokens: int | None = None
    """Tokens lost from the left of an input longer than the model reads; None: not known."""
    kl: float | None = None
    """Nats per token, of the original's distributions to this model's; None: not compared."""
    greedy: tuple[bool, ...] | None = None
    """Whether the model would have written each given text by itself; None: not asked."""
    tokens: int | None = None
    """Tokens of a window that were predicted."""
    context_tokens: int | None = None
    """Of what was read before a cache was cut; None: none was, by what was read."""
    kept_tokens: float | None = None
    """Of these, those that a head was left with, mean over the layers."""
    kv_bytes: int | None = None
    """Of the tensors that hold them."""
    kept_places: Sequence[int] | None = None
    """Percent of each sixteenth of the context that a head was left with, layer after layer."""
    beside: Mapping[str, float] = field(default_factory=dict)
    """Scores by other metrics of the task; not stored by sample."""


def kept_columns(kept: Kept | None) -> dict[str, Any]:
    """A sample's columns of what was kept of its context; none where nothing was cut."""
    if kept is None:
        return {}
    return {
        "context_tokens": kept.context_tokens,
        "kept_tokens": kept.tokens,
        "kv_bytes": kept.bytes,
        "kept_places": kept.places,
    }


@dataclass(frozen=True)
class SliceScore:
    """The figure of a part of a task, such as an MMLU subject, or a named mean over its parts."""

    slice: str
    value: float
    standard_error: float | None
    n: int
    how: str
    chance: float | None = None
    """Score of guessing; None: not known."""
    stratum_rows: int | None = None
    """Rows of the part in the benchmark's data; None: it is a mean over parts."""


@dataclass(frozen=True)
class BesideScore:
    """The task's figure by another metric than its own, 1 being the best and guessing worth 0."""

    metric: str
    value: float
    standard_error: float | None


@dataclass(frozen=True)
class TaskOutcome:
    """A task's figure with its samples. `how` says by what rule it was read."""

    task: WireTask
    value: float
    standard_error: float | None
    samples: list[SampleResult]
    protocol: str
    protocol_parts: dict[str, str]
    """What the protocol's hash is over, by name, so that a difference can be said."""
    how: str
    asked: int
    """Log-likelihoods, windows and generations."""
    reused: int
    """Of these, those that an earlier evaluation had answered."""
    slices: tuple[SliceScore, ...] = ()
    chance: float | None = None
    """Score of guessing; None: not known."""
    rows: int | None = None
    """Of the task's data, taken or not; None: not counted."""
    beside: tuple[BesideScore, ...] = ()
    figures: tuple[DistanceFigure, ...] = ()
    """How far the model is from the original; none where that was not asked."""


def mean_and_error(scores: Sequence[float]) -> tuple[float, float | None]:
    """Mean and its standard error, sample deviation over the root of n; None with one score."""
    mean = math.fsum(scores) / len(scores)
    if len(scores) < 2:
        return mean, None
    return mean, statistics.stdev(scores) / math.sqrt(len(scores))


def measurement(outcome: TaskOutcome, fidelity: str, device: str) -> dict[str, Any]:
    """The outcome as a `Measurement` of the wire."""
    task = outcome.task
    how = outcome.how
    if outcome.reused:
        how += f"; {outcome.reused} of {outcome.asked} requests answered by an earlier evaluation"
    return {
        "metric": task.reported_metric,
        "value": outcome.value,
        "unit": task.unit,
        "direction": task.direction,
        "n": len(outcome.samples),
        "standard_error": outcome.standard_error,
        "fidelity": fidelity,
        "provenance": "measured",
        "task": task.task,
        "task_version": task.task_version,
        "slice": None,
        "runtime": None,
        "numerics": None,
        "device": device,
        "method": how,
        **({"chance": outcome.chance} if task.direction == "maximize" else {}),
    }


def measurements(outcome: TaskOutcome, fidelity: str, device: str) -> list[dict[str, Any]]:
    """The task's measurement, by its own metric and by others, then those of its slices and of its
    distance to the original."""
    whole = measurement(outcome, fidelity, device)
    return [
        whole,
        *(
            {
                **whole,
                "metric": one.metric,
                "value": one.value,
                "standard_error": one.standard_error,
                "method": f"{whole['method']}; {one.metric} of the same answers",
                "chance": 0.0,
            }
            for one in outcome.beside
        ),
        *(
            {
                **whole,
                "value": part.value,
                "standard_error": part.standard_error,
                "n": part.n,
                "slice": part.slice,
                "method": f"{whole['method']}; {part.how}",
                "chance": part.chance,
                **({} if part.stratum_rows is None else {"stratum_rows": part.stratum_rows}),
            }
            for part in outcome.slices
        ),
        *(one.over(whole) for one in outcome.figures),
        *_kept_figures(outcome, whole),
    ]


def _kept_figures(outcome: TaskOutcome, whole: dict[str, Any]) -> list[dict[str, Any]]:
    """Bytes of the cache after a context, mean over the task's samples; nothing where no policy cut
    it."""
    found = [one for one in outcome.samples if one.kv_bytes is not None]
    if not found:
        return []
    value, error = mean_and_error([float(one.kv_bytes or 0) for one in found])
    kept = math.fsum(one.kept_tokens or 0.0 for one in found) / len(found)
    read = math.fsum(one.context_tokens or 0.0 for one in found) / len(found)
    return [
        {
            **{name: given for name, given in whole.items() if name != "chance"},
            "metric": "context_kv_bytes",
            "value": value,
            "standard_error": error,
            "unit": "bytes",
            "direction": "minimize",
            "n": len(found),
            "method": f"the cache's tensors after a context of {read:.4g} tokens in the mean: a "
            f"head keeps {kept:.4g} of them, mean over the layers",
        }
    ]
