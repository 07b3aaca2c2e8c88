"""The likelihood of the original's own answers under a model, for tasks that generate: what a trial
lost of them is seen by one forward pass a sample, without a generation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pare_backends.evaluation.asked import TaskRows
from pare_backends.evaluation.original.distributions import Original
from pare_backends.evaluation.original.written import (
    Prompt,
    Written,
    answer_scores,
    written,
)
from pare_backends.evaluation.outcome import SampleResult, TaskOutcome
from pare_backends.evaluation.strata import mean_by
from pare_backends.evaluation.tasks.documents import Documents
from pare_backends.evaluation.tasks.groups import rows_by_group
from pare_backends.evaluation.tasks.lm_task import build_task
from pare_backends.evaluation.tasks.records import content_hash
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure

if TYPE_CHECKING:
    from pare_backends.evaluation.packed.language_model import PackedLM

METRIC, UNIT = "answer_likelihood", "nats/token"
"""As `core/metrics/metric_table.ts` declares it."""


@dataclass(frozen=True)
class OriginalAnswers:
    """Whose answers are scored."""

    original: Original
    is_scored: bool
    """Whether the model that is scored is the original itself."""
    load: Callable[[], PackedLM]
    """Reads the original, where its answers are not kept and another model is in memory."""


def run_likelihood(asking: TaskRows, model: PackedLM, source: OriginalAnswers) -> TaskOutcome:
    """Mean over the rows of what a token of the original's answer is less likely under the model
    than under the original, in nats. Generations of rows that are asked apart share no forward
    pass with others, so that later rungs of the original take them over. A sample's score is the
    log-likelihood of a token under the model."""
    import lm_eval

    task, documents, rows = asking.task, asking.documents, asking.rows
    groups = task.groups
    asked, reused = model.asked, model.answers.reused
    model.label = task.task
    found: dict[int, tuple[SampleResult, Written]] = {}
    for part in asking.parts():
        found.update(zip(part, _run_part(task, documents, part, model, source), strict=True))
    samples = [found[row][0] for row in rows]
    drops = [
        one.log_likelihood / one.tokens - sample.score
        for sample, one in (found[row] for row in rows)
    ]
    names = [] if groups is None else [groups.of(documents.rows[row]) for row in rows]
    sizes = None
    if groups is not None:
        if asking.weighed and len(rows) < len(documents.rows):
            sizes = rows_by_group(groups, documents.rows)
        samples = [
            replace(one, stratum=name, stratum_rows=None if sizes is None else sizes[name])
            for one, name in zip(samples, names, strict=True)
        ]
    value, error = mean_by(names, drops, sizes)
    tokens = sum(one.tokens for _, one in found.values())
    parts = {
        "task_version": task.task_version,
        "evaluator": f"lm-eval {lm_eval.__version__}",
        "metric": METRIC,
        "few_shot": str(task.few_shot),
        "prompts": content_hash([sample.prompt_hash for sample in samples]),
        "answers": content_hash([found[row][1].answer for row in rows]),
        "samples": f"{len(rows)} rows {content_hash([documents.hashes[row] for row in rows])}",
    }
    if model.prompting:
        parts["prompting"] = model.prompting
    if model.evict_after:
        parts["evict_after"] = model.evict_after
    return TaskOutcome(
        task=replace(
            task, reported_metric=METRIC, unit=UNIT, direction="minimize", chance=None, member_of=[]
        ),
        value=value,
        standard_error=error,
        samples=samples,
        protocol=content_hash(parts),
        protocol_parts=parts,
        how="log-likelihood of a token of the original's own answer, the original's less this"
        f" model's, teacher-forced; {len(rows)} answers, {tokens} tokens",
        asked=model.asked - asked,
        reused=model.answers.reused - reused,
        rows=len(documents.rows),
    )


def _run_part(
    task: WireTask,
    documents: Documents,
    rows: Sequence[int],
    model: PackedLM,
    source: OriginalAnswers,
) -> list[tuple[SampleResult, Written]]:
    """The samples of rows that share a prompt, in their order, with what the original wrote."""
    from lm_eval.utils import hash_string

    instances = _instances(task, documents, rows, model)
    prompts = [Prompt(str(one.args[0]), dict(one.args[1])) for one in instances]
    kept = written(
        source.original,
        prompts,
        model if source.is_scored else None,
        source.load,
        lambda original: _generated(task, original, instances),
    )
    scores = answer_scores(model, prompts, [one.answer for one in kept])
    samples = []
    for row, prompt, one, (likelihood, tokens) in zip(rows, prompts, kept, scores, strict=True):
        if tokens != one.tokens or not math.isfinite(likelihood):
            raise CallFailure(
                "bad_input",
                f"Cannot score the original's answer to row {row} of {task.task}: it is {tokens}"
                f" tokens here and {one.tokens} for the original",
                hint="Compare models of one tokenizer",
            )
        asked = {"arguments": [(prompt.context, one.answer)]}
        samples.append(
            SampleResult(
                task=task.task,
                sample_id=str(row),
                sample_hash=documents.hashes[row],
                prompt_hash=hash_string(prompt.context)[:16],
                score=likelihood / tokens,
                answer=one.answer,
                gold=None,
                log_likelihood=likelihood,
                seconds=model.seconds_of(asked),
                cut_tokens=model.cut_tokens_of(asked),
            )
        )
    return list(zip(samples, kept, strict=True))


def _instances(
    task: WireTask, documents: Documents, rows: Sequence[int], model: PackedLM
) -> list[Any]:
    """lm-eval's own requests to generate, one a row."""
    lm_task = build_task(task, documents, rows)
    if lm_task.OUTPUT_TYPE != "generate_until":
        raise CallFailure(
            "bad_input",
            f"Cannot score answers of {task.task}: nothing is generated there, its samples are of"
            f" the kind {lm_task.OUTPUT_TYPE}",
        )
    lm_task.build_all_requests(
        limit=None,
        rank=0,
        world_size=1,
        apply_chat_template=model.templated,
        chat_template=model.apply_chat_template if model.templated else None,
        tokenizer_name=model.tokenizer_name if model.templated else "",
    )
    return list(lm_task.instances)


def _generated(task: WireTask, original: PackedLM, instances: list[Any]) -> list[str]:
    """What the original writes, the first of several answers to a prompt."""
    original.label = task.task
    return [str(text) for text in original.generate_until(instances)]
