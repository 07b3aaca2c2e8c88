"""Runs one task of lm-eval on chosen rows and keeps what each sample did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pare_backends.evaluation.documents import Documents, full_definition
from pare_backends.evaluation.outcome import SampleResult, TaskOutcome, mean_and_error
from pare_backends.evaluation.records import Row, content_hash
from pare_backends.evaluation.wire import WireTask
from pare_backends.failures import StageFailure, one_line

if TYPE_CHECKING:
    from pare_backends.evaluation.language_model import PackedLM

SEED = 1234
"""lm-eval's own seed for few-shot samplers; the tasks here take the first examples."""


def run_harness(
    task: WireTask, documents: Documents, rows: Sequence[int], model: PackedLM
) -> TaskOutcome:
    """The task's metric on the rows, by lm-eval's own templates, filters and metrics."""
    import lm_eval
    from lm_eval.evaluator import evaluate

    metric, _, wanted_filter = task.metric.partition(",")
    lm_task = build_task(task, documents, rows)
    model.label = task.task
    # Standard errors are computed below: lm-eval's bootstrap of some metrics takes minutes.
    loaded = {"tasks": {task.task: lm_task}, "groups": {}, "group_map": {}}
    results = evaluate(lm=model, task_dict=loaded, bootstrap_iters=0, log_samples=True)
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
        sample_result(
            task, lm_task, sample, row, documents.hashes[row], metric, model.seconds_of(sample)
        )
        for row, sample in zip(rows, logged, strict=True)
    ]
    value, error = mean_and_error([sample.score for sample in samples])
    prompts = [sample.prompt_hash for sample in samples]
    template = {**full_definition(task), "dataset_kwargs": None, "dataset_path": None}
    version = lm_eval.__version__
    return TaskOutcome(
        task=task,
        value=value,
        standard_error=error,
        samples=samples,
        protocol=content_hash(
            [
                task.task_version,
                version,
                task.metric,
                task.few_shot,
                str(template),
                prompts,
                [documents.hashes[row] for row in rows],
            ]
        ),
        how=f"lm-eval {version}, {task.metric}, {task.few_shot}-shot",
    )


def build_task(task: WireTask, documents: Documents, rows: Sequence[int]) -> Any:
    """lm-eval's task over exactly these rows: its documents are numbered 0 to n-1 in this order.

    The rows are handed over in memory, so nothing is written to a dataset cache and no hub is
    asked.
    """
    import datasets
    from lm_eval.api.task import ConfigurableTask

    definition = full_definition(task)
    chosen = [documents.rows[row] for row in rows]

    def in_memory(**_: Any) -> dict[str, Any]:
        splits = {"test": _dataset(datasets, chosen)}
        if documents.examples:
            splits["train"] = _dataset(datasets, documents.examples)
        return splits

    config = {
        **definition,
        "task": task.task,
        "custom_dataset": in_memory,
        "dataset_path": None,
        "dataset_name": None,
        "dataset_kwargs": None,
        "test_split": "test",
        "validation_split": None,
        "training_split": "train" if documents.examples else None,
        "fewshot_split": "train" if documents.examples else None,
        "num_fewshot": task.few_shot,
        "should_decontaminate": False,
    }
    if documents.examples:
        # The default sampler draws anew for every document: a prompt would then depend on the
        # documents before it, and a sample's score on the selection.
        config["fewshot_config"] = {"sampler": "first_n"}
    try:
        built = ConfigurableTask(config=config)
    except (TypeError, KeyError, ValueError) as error:
        raise StageFailure(
            "bad_input", f"Cannot build the task {task.task}: {one_line(error)}"
        ) from error
    built.set_fewshot_seed(seed=SEED)
    return built


def _dataset(datasets: Any, rows: Sequence[Row]) -> Any:
    """Rows as lm-eval reads them; a field that only some rows have is left to those (null)."""
    return datasets.Dataset.from_list(list(rows))


def sample_result(
    task: WireTask,
    lm_task: Any,
    sample: dict[str, Any],
    row: int,
    digest: str,
    metric: str,
    seconds: float | None,
) -> SampleResult:
    """One logged sample of lm-eval as a row of ours."""
    answer, gold, likelihood = _answer(lm_task, sample, metric)
    return SampleResult(
        task=task.task,
        sample_id=str(row),
        sample_hash=digest,
        prompt_hash=str(sample["prompt_hash"])[:16],
        score=float(sample[metric]),
        answer=answer,
        gold=gold,
        log_likelihood=likelihood,
        seconds=seconds,
    )


def _answer(
    lm_task: Any, sample: dict[str, Any], metric: str
) -> tuple[str | None, str | None, float | None]:
    """What the model chose, what was right, and the log-likelihood of the right one (nats)."""
    target, responses = sample["target"], sample["filtered_resps"]
    kind = lm_task.OUTPUT_TYPE
    if kind == "multiple_choice":
        choices = lm_task.doc_to_choice(sample["doc"])
        values = [float(value) for value, _ in responses]
        lengths = [len(text) if metric == "acc_norm" else 1 for text in choices]
        best = max(range(len(choices)), key=lambda i: values[i] / lengths[i])
        right = target if isinstance(target, int) else choices.index(str(target))
        return choices[best], choices[right], values[right]
    if kind == "loglikelihood":
        likelihood, greedy = responses[0]
        gold = str(target).strip()
        return (gold if greedy else None), gold, float(likelihood)
    response = responses[0] if isinstance(responses[0], str) else str(responses[0][0])
    return response, str(target), None
