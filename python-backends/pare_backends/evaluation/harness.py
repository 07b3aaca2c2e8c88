"""Runs one task of lm-eval on chosen rows and keeps what each sample did."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pare_backends.evaluation.answers import split_apart
from pare_backends.evaluation.generated_code import CodeJudge, code_of, decoding, later_slices
from pare_backends.evaluation.outcome import BesideScore, SampleResult, TaskOutcome
from pare_backends.evaluation.strata import mean_by, mean_chance
from pare_backends.evaluation.tasks.answer_rules import read_best, rule_of
from pare_backends.evaluation.tasks.chance import chances
from pare_backends.evaluation.tasks.documents import Documents, full_definition
from pare_backends.evaluation.tasks.groups import (
    Sampled,
    groups_of,
    how_weighed,
    rows_by_group,
    slice_scores,
    split_rows,
)
from pare_backends.evaluation.tasks.lm_task import build_task
from pare_backends.evaluation.tasks.records import content_hash
from pare_backends.evaluation.tasks.task_document import check_shares
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import StageFailure

if TYPE_CHECKING:
    from pare_backends.evaluation.packed.language_model import PackedLM
    from pare_backends.evaluation.served.model import ServedLM


def run_harness(
    task: WireTask,
    documents: Documents,
    rows: Sequence[int],
    model: PackedLM | ServedLM,
    apart: Sequence[Container[int]] = (),
    sandboxed: bool = True,
    weigh_strata: bool = False,
) -> TaskOutcome:
    """The task's metric on the rows, by lm-eval's own templates, filters and metrics. A task of
    groups runs group by group, as each has prompts of its own; rows of one of `apart` share no
    forward pass with others. `weigh_strata`: some stand for all, each group by its rows."""
    import lm_eval

    groups = groups_of(task.definition or {})
    by_group = split_rows(groups, documents.rows, rows)
    parts = [piece for part in by_group for piece in split_apart(part, apart)]
    asked, reused = model.asked, model.answers.reused
    found: dict[int, SampleResult] = {}
    model.label = task.task
    for part in parts:
        model.share = (len(found), len(part), len(rows))
        results = _run_part(task, documents, part, model, sandboxed)
        found.update(zip(part, results, strict=True))
    samples = [found[row] for row in rows]
    scores = [sample.score for sample in samples]
    if task.origin != "plugin":
        check_shares(task.task, task.metric, scores)
    names = [] if groups is None else [groups.of(documents.rows[row]) for row in rows]
    sampled = Sampled(
        names,
        scores,
        [sample.chance for sample in samples],
        {} if groups is None else rows_by_group(groups, documents.rows),
        weighed=groups is not None and weigh_strata and len(rows) < len(documents.rows),
    )
    if groups is not None:
        samples = [
            replace(one, stratum=name, stratum_rows=sampled.rows[name] if sampled.weighed else None)
            for one, name in zip(samples, names, strict=True)
        ]
    sizes = sampled.sizes
    value, error = mean_by(names, scores, sizes)
    weighing = how_weighed(groups, sampled) if groups is not None and sampled.weighed else None
    version = lm_eval.__version__
    protocol, protocol_parts = _protocol(
        task,
        version,
        [sample.prompt_hash for sample in samples],
        [documents.hashes[row] for row in rows],
        model.prompting,
        (weighing, sampled.rows) if weighing else None,
        model.evict_after,
    )
    return TaskOutcome(
        task=task,
        value=value,
        standard_error=error,
        samples=samples,
        protocol=protocol,
        protocol_parts=protocol_parts,
        how=f"lm-eval {version}, {task.metric}, {task.few_shot}-shot"
        + decoding(task, sandboxed)
        + (f", {model.prompting}" if model.prompting else "")
        + (f", evicted after the {model.evict_after}" if model.evict_after else "")
        + (f", {weighing}" if weighing else ""),
        asked=model.asked - asked,
        reused=model.answers.reused - reused,
        slices=(*slice_scores(groups, sampled), *later_slices(task, samples)),
        chance=mean_chance(names, sampled.chances, sizes),
        rows=len(documents.rows),
        beside=tuple(
            BesideScore(metric, *mean_by(names, [one.beside[metric] for one in samples], sizes))
            for metric in samples[0].beside
        ),
    )


def _protocol(
    task: WireTask,
    version: str,
    prompts: list[str],
    hashes: list[str],
    prompting: str,
    weighing: tuple[str, Mapping[str, int]] | None,
    evict_after: str = "",
) -> tuple[str, dict[str, str]]:
    """The hash over everything that an equal protocol has equal, and its parts by name.

    version: of lm-eval; prompts, hashes: of each sample; prompting: how prompts were changed, or
    nothing; weighing: how groups weigh, and their rows; evict_after: what a cache was cut after
    """
    definition = _plain({**full_definition(task), "dataset_kwargs": None, "dataset_path": None})
    whole = [task.task_version, version, task.metric, task.few_shot, definition, prompts, hashes]
    parts = {
        "task_version": task.task_version,
        "evaluator": f"lm-eval {version}",
        "metric": task.metric,
        "few_shot": str(task.few_shot),
        "decoding": json.dumps(definition.get("generation_kwargs"), sort_keys=True),
        "template": content_hash({**definition, "generation_kwargs": None}),
        "prompts": content_hash(prompts),
    }
    if prompting:
        whole.append(prompting)
        parts["prompting"] = prompting
    parts["samples"] = f"{len(hashes)} rows {content_hash(hashes)}"
    if weighing is not None:
        how, group_rows = weighing
        whole.append([how, group_rows])
        parts["weighing"] = f"{how} {content_hash(group_rows)}"
    if evict_after:
        whole.append({"evict_after": evict_after})
        parts["evict_after"] = evict_after
    return content_hash(whole), parts


def _plain(value: Any) -> Any:
    """The value as JSON has it; lm-eval's documents name functions, which are told by their names,
    as their addresses differ from process to process."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    return value


def _run_part(
    task: WireTask,
    documents: Documents,
    rows: Sequence[int],
    model: PackedLM | ServedLM,
    sandboxed: bool,
) -> list[SampleResult]:
    """The samples of rows that share a prompt, in their order."""
    from lm_eval.evaluator import evaluate

    metric, _, wanted_filter = task.metric.partition(",")
    judge = None
    if code_of(task) is not None:
        judge = CodeJudge(task, len(rows), model.answers, model.report, sandboxed)
    lm_task = build_task(task, documents, rows, judge)
    # Standard errors are computed from the samples: lm-eval's bootstrap of some takes minutes.
    loaded = {"tasks": {task.task: lm_task}, "groups": {}, "group_map": {}}
    results = evaluate(
        lm=model,
        task_dict=loaded,
        bootstrap_iters=0,
        log_samples=True,
        apply_chat_template=model.templated,
    )
    logged = [s for s in results["samples"][task.task] if s["filter"] == wanted_filter]
    if len(logged) != len(rows) or any(metric not in sample for sample in logged):
        known = sorted(
            {f"{m},{s['filter']}" for s in results["samples"][task.task] for m in s["metrics"]}
        )
        raise StageFailure(
            "bad_input",
            f'Cannot read the metric "{task.metric}" of {task.task}: lm-eval gives '
            f"{', '.join(known)}",
        )
    samples = [
        replace(
            sample_result(task, lm_task, sample, row, documents.hashes[row], metric),
            seconds=model.seconds_of(sample),
            cut_tokens=model.cut_tokens_of(sample),
            chance=chance,
        )
        for row, sample, chance in zip(
            rows, logged, chances(task, lm_task, logged, metric), strict=True
        )
    ]
    return samples if judge is None else judge.describe(samples)


def sample_result(
    task: WireTask,
    lm_task: Any,
    sample: dict[str, Any],
    row: int,
    digest: str,
    metric: str,
) -> SampleResult:
    """One logged sample of lm-eval as a row of ours; what it cost is the model's to say."""
    definition = task.definition or {}
    rule = rule_of(definition)
    read = _answer(lm_task, sample, metric)
    if rule is not None:
        reading = read_best(rule, _text(sample), sample["doc"][definition["metadata"]["gold"]])
        gold = reading.gold if reading.gold is not None else str(sample["target"])
        read = replace(read, parsed=reading.answer, gold=gold, beside=reading.beside)
    return SampleResult(
        task=task.task,
        sample_id=str(row),
        sample_hash=digest,
        prompt_hash=str(sample["prompt_hash"])[:16],
        score=float(sample[metric]),
        answer=read.answer,
        gold=read.gold,
        log_likelihood=read.log_likelihood,
        seconds=None,
        parsed_answer=read.parsed,
        chosen=read.chosen,
        choice_log_likelihoods=read.choices,
        beside=read.beside,
    )


@dataclass(frozen=True)
class _Read:
    """What the model wrote or chose, what was right, and the log-likelihoods behind it (nats)."""

    answer: str | None
    parsed: str | None
    gold: str | None
    log_likelihood: float | None = None
    chosen: int | None = None
    choices: tuple[float, ...] | None = None
    beside: Mapping[str, float] = field(default_factory=dict)


def _answer(lm_task: Any, sample: dict[str, Any], metric: str) -> _Read:
    target, responses = sample["target"], sample["filtered_resps"]
    kind = lm_task.OUTPUT_TYPE
    if kind == "multiple_choice":
        choices = lm_task.doc_to_choice(sample["doc"])
        values = tuple(float(value) for value, _ in responses)
        lengths = [len(text) if metric == "acc_norm" else 1 for text in choices]
        best = max(range(len(choices)), key=lambda i: values[i] / lengths[i])
        if lm_task.multiple_input:
            # The choices are what stands before one and the same target; the text is the right one.
            target = lm_task.doc_to_text(sample["doc"])
        right = target if isinstance(target, int) else choices.index(str(target))
        text = choices[best]
        return _Read(text, text, choices[right], values[right], best, values)
    if kind == "loglikelihood":
        likelihood, greedy = responses[0]
        gold = str(target).strip()
        text = gold if greedy else None
        return _Read(text, text, gold, float(likelihood))
    gold = json.dumps(target, ensure_ascii=False) if isinstance(target, list) else str(target)
    return _Read(_written(sample), _text(sample), gold)


def _written(sample: dict[str, Any]) -> str:
    """The generation as the model wrote it."""
    response = sample["resps"][0]
    return str(response if isinstance(response, str) else response[0])


def _text(sample: dict[str, Any]) -> str:
    """The generation as the filters left it."""
    response = sample["filtered_resps"][0]
    return response if isinstance(response, str) else str(response[0])
