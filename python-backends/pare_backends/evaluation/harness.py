"""Asks one task of lm-eval on chosen rows and keeps what each sample was answered."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pare_backends.evaluation.asked import AskedTask, TaskRows
from pare_backends.evaluation.outcome import SampleResult, TaskOutcome, kept_columns
from pare_backends.evaluation.prompts import in_template, prompting, shortener
from pare_backends.evaluation.scoring.answer import Answer
from pare_backends.evaluation.scoring.context import Surroundings
from pare_backends.evaluation.scoring.programs import has_programs, listed
from pare_backends.evaluation.scoring.protocol import hashed_definition
from pare_backends.evaluation.scoring.summing import scored_outcome
from pare_backends.evaluation.tasks.chance import chances
from pare_backends.evaluation.tasks.documents import Documents, full_definition
from pare_backends.evaluation.tasks.lm_task import build_task
from pare_backends.evaluation.tasks.records import content_hash
from pare_backends.evaluation.tasks.wire_task import WireTask

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
    """The task's own figure on the rows: they are asked, and its first scorer scores the
    answers. Rows of one of `apart` share no forward pass with others. `weigh_strata`: some stand
    for all, each group by its rows."""
    asked = ask_harness(TaskRows(task, documents, rows, apart), model)
    around = Surroundings(model.report, model.answers, sandboxed)
    return scored_outcome(asked, around, weigh_strata)


def ask_harness(asking: TaskRows, model: PackedLM | ServedLM) -> AskedTask:
    """The rows by lm-eval's own templates and requests. A task of groups is asked group by
    group, as each has prompts of its own."""
    import lm_eval

    task, documents, rows = asking.task, asking.documents, asking.rows
    asked, reused = model.asked, model.answers.reused
    found: dict[int, tuple[SampleResult, Answer]] = {}
    model.label = task.task
    shorten = shortener(task, model)
    for part in asking.parts():
        model.share = (len(found), len(part), len(rows))
        results = _ask_part(task, documents, part, model, shorten)
        found.update(zip(part, results, strict=True))
    samples = [found[row][0] for row in rows]
    version, how_asked = lm_eval.__version__, prompting(task, model)
    hashed, protocol_parts = _protocol(
        task,
        version,
        [sample.prompt_hash for sample in samples],
        [documents.hashes[row] for row in rows],
        how_asked,
        model.evict_after,
    )
    return AskedTask(
        task=task,
        documents=documents,
        rows=rows,
        answers=[found[row][1] for row in rows],
        samples=samples,
        how=f"lm-eval {version}, {task.metric}, {task.few_shot}-shot",
        changed=(f", {how_asked}" if how_asked else "")
        + (f", evicted after the {model.evict_after}" if model.evict_after else ""),
        hashed=hashed,
        protocol_parts=protocol_parts,
        asked=model.asked - asked,
        reused=model.answers.reused - reused,
    )


def _protocol(
    task: WireTask,
    version: str,
    prompts: list[str],
    hashes: list[str],
    how_asked: str,
    evict_after: str,
) -> tuple[list[Any], dict[str, str]]:
    """Everything that an equal protocol has equal, but for scorer and weighing, and its parts by
    name.

    version: of lm-eval; prompts, hashes: of each sample; how_asked: how prompts were changed, or
    nothing; evict_after: what a cache was cut after
    """
    named = hashed_definition(full_definition(task), task.scorers[0])
    definition = _plain({**named, "dataset_kwargs": None, "dataset_path": None})
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
    if how_asked:
        whole.append(how_asked)
        parts["prompting"] = how_asked
    parts["samples"] = f"{len(hashes)} rows {content_hash(hashes)}"
    if evict_after:
        whole.append({"evict_after": evict_after})
        parts["evict_after"] = evict_after
    return whole, parts


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


def _ask_part(
    task: WireTask,
    documents: Documents,
    rows: Sequence[int],
    model: PackedLM | ServedLM,
    shorten: Callable[[str], str] | None,
) -> list[tuple[SampleResult, Answer]]:
    """Samples without a score, and answers, of rows that share a prompt, in their order."""
    from lm_eval.evaluator import evaluate

    metric = task.metric.partition(",")[0]
    lm_task = build_task(task, documents, rows, asks_only=True, shorten=shorten)
    loaded = {"tasks": {task.task: lm_task}, "groups": {}, "group_map": {}}
    results = evaluate(
        lm=model,
        task_dict=loaded,
        bootstrap_iters=0,
        log_samples=True,
        apply_chat_template=in_template(task, model),
    )
    logged = results["samples"][task.task]
    return [
        (
            replace(
                sample_of(task, lm_task, sample, row, documents.hashes[row], metric),
                seconds=model.seconds_of(sample),
                cut_tokens=model.cut_tokens_of(sample),
                chance=chance,
                **kept_columns(model.kept_of(sample)),
            ),
            answer_of(lm_task, sample),
        )
        for row, sample, chance in zip(
            rows, logged, chances(task, lm_task, logged, metric), strict=True
        )
    ]


def answer_of(lm_task: Any, sample: dict[str, Any]) -> Answer:
    """What the model said to a logged sample of lm-eval."""
    said = sample["resps"]
    if lm_task.OUTPUT_TYPE == "generate_until":
        return Answer(texts=tuple(str(text) for text in said[0]))
    pairs = [responses[0] for responses in said]
    return Answer(
        likelihoods=tuple(float(value) for value, _ in pairs),
        greedy=tuple(bool(greedy) for _, greedy in pairs),
    )


def sample_of(
    task: WireTask,
    lm_task: Any,
    sample: dict[str, Any],
    row: int,
    digest: str,
    metric: str,
) -> SampleResult:
    """One logged sample of lm-eval as a row of ours without a score; what it cost is the model's to
    say."""
    common: dict[str, Any] = {
        "task": task.task,
        "sample_id": str(row),
        "sample_hash": digest,
        "prompt_hash": str(sample["prompt_hash"])[:16],
        "score": math.nan,
        "seconds": None,
    }
    target, said = sample["target"], answer_of(lm_task, sample)
    kind = lm_task.OUTPUT_TYPE
    if kind == "multiple_choice":
        choices, values = lm_task.doc_to_choice(sample["doc"]), said.likelihoods
        lengths = [len(text) if metric == "acc_norm" else 1 for text in choices]
        best = max(range(len(choices)), key=lambda i: values[i] / lengths[i])
        if lm_task.multiple_input:
            # The choices are what stands before one and the same target; the text is the right one.
            target = lm_task.doc_to_text(sample["doc"])
        right = target if isinstance(target, int) else choices.index(str(target))
        return SampleResult(
            **common,
            answer=choices[best],
            parsed_answer=choices[best],
            gold=choices[right],
            log_likelihood=values[right],
            chosen=best,
            choice_log_likelihoods=values,
            greedy=said.greedy,
        )
    if kind == "loglikelihood":
        gold = str(target).strip()
        text = gold if said.greedy and said.greedy[0] else None
        return SampleResult(
            **common,
            answer=text,
            parsed_answer=text,
            gold=gold,
            log_likelihood=said.likelihoods[0],
            greedy=said.greedy,
        )
    gold = json.dumps(target, ensure_ascii=False) if isinstance(target, list) else str(target)
    text = listed(said.texts) if has_programs(task) else said.text
    return SampleResult(**common, answer=text, gold=gold, log_likelihood=None)
