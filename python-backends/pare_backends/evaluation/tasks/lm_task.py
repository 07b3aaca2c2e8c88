"""lm-eval's own task object over chosen rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pare_backends.evaluation.tasks.documents import Documents, full_definition
from pare_backends.evaluation.tasks.records import Row
from pare_backends.evaluation.tasks.templates import sandbox_templates
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure, one_line

SEED = 1234
"""lm-eval's own seed for few-shot samplers; the tasks here take the first examples."""


def build_task(
    task: WireTask,
    documents: Documents,
    rows: Sequence[int],
    asks_only: bool = False,
    shorten: Callable[[str], str] | None = None,
) -> Any:
    """lm-eval's task over exactly these rows, of one group where the task has groups: its
    documents are numbered 0 to n-1 in this order. asks_only: it scores nothing; shorten: makes its
    prompts, which are a template's, fit the model.

    The rows are handed over in memory, so nothing is written to a dataset cache and no hub is
    asked.
    """
    import datasets
    from lm_eval.api.task import ConfigurableTask

    chosen = [documents.rows[row] for row in rows]
    group = None if task.groups is None else task.groups.of(chosen[0])
    definition = full_definition(task, group)
    examples = _examples(task, documents, group)

    def in_memory(**_: Any) -> dict[str, Any]:
        splits = {"test": _dataset(datasets, chosen)}
        if examples:
            splits["train"] = _dataset(datasets, examples)
        return splits

    config = {
        **definition,
        "task": task.task,
        "custom_dataset": in_memory,
        "dataset_path": None,
        "dataset_name": None,
        "dataset_kwargs": None,
        "process_docs": None if task.origin != "plugin" else definition.get("process_docs"),
        "test_split": "test",
        "validation_split": None,
        "training_split": "train" if examples else None,
        "fewshot_split": "train" if examples else None,
        "num_fewshot": task.few_shot,
        "should_decontaminate": False,
    }
    if examples:
        # The default sampler draws anew for every document: a prompt would then depend on the
        # documents before it, and a sample's score on the selection.
        config["fewshot_config"] = {"sampler": "first_n"}
    if asks_only:
        _ask_only(config)
    if shorten is not None:
        config["doc_to_text"] = _shortened(definition["doc_to_text"], shorten)
    if task.origin == "file":
        sandbox_templates()
    try:
        built = ConfigurableTask(config=config)
    except (TypeError, KeyError, ValueError) as error:
        raise CallFailure(
            "bad_input", f"Cannot build the task {task.task}: {one_line(error)}"
        ) from error
    built.set_fewshot_seed(seed=SEED)
    return built


def _examples(task: WireTask, documents: Documents, group: str | None) -> list[Row]:
    """The rows that examples are taken from: of the group, where there is one."""
    groups = task.groups
    if groups is None or group is None or not documents.examples:
        return documents.examples
    own = [row for row in documents.examples if groups.of(row) == group]
    if len(own) < task.few_shot:
        raise CallFailure(
            "bad_input",
            f"Cannot give {task.few_shot} examples to {task.task} of {group}: there are {len(own)}",
        )
    return own


def _shortened(template: str, shorten: Callable[[str], str]) -> Callable[[Row], str]:
    from lm_eval.utils import apply_template

    return lambda row: shorten(apply_template(template, row))


def _ask_only(config: dict[str, Any]) -> None:
    """Leaves nothing of the document that filters or scores an answer."""

    def process_results(doc: Row, results: Sequence[Any]) -> dict[str, float]:
        return {}

    if config.get("process_results") is not None:
        config["process_results"] = process_results
    config["filter_list"] = None
    config["metric_list"] = [
        {"metric": "bypass", "aggregation": "bypass", "higher_is_better": True}
    ]


def _dataset(datasets: Any, rows: Sequence[Row]) -> Any:
    """Rows as lm-eval reads them; a field that only some rows have is left to those (null)."""
    return datasets.Dataset.from_list(list(rows))
