"""What pare needs to know of a task document, read without running anything of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pare_backends.evaluation.tasks.task_yaml import FunctionName
from pare_backends.failures import CallFailure
from pare_backends.knobs import unknown_name

Document = Mapping[str, Any]

OUTPUT_TYPES = ("multiple_choice", "loglikelihood", "generate_until")
DEFAULT_METRIC = {
    "multiple_choice": "acc",
    "loglikelihood": "acc",
    "generate_until": "exact_match",
}

NO_SHARE = re.compile(r"(bleu|rouge\w*_max|chrf|ter|bertscore)(?!.*_acc$)|.*_diff$")
"""Metrics whose scores are no shares from 0 to 1, of which a study takes the mean over tasks."""

REFUSED_KEYS = {
    "class": "it is written in Python and builds its own requests, which no document tells",
    "custom_dataset": "it makes its data by code",
    "doc_to_image": "it shows pictures, and pare compresses models of text",
    "doc_to_audio": "it plays sound, and pare compresses models of text",
    "use_prompt": "it takes its prompts from promptsource, which is not installed",
}


def refuse(name: str, reason: str, hint: str | None = None) -> CallFailure:
    """The failure of a task that cannot be had."""
    return CallFailure("bad_input", f"Cannot use the task {name}: {reason}", hint)


def check_usable(name: str, document: Document) -> None:
    """Raises for a task that pare does not run, with the reason."""
    if document.get("unsafe_code"):
        raise refuse(
            name,
            "it runs code that the model writes, and outside a sandbox nobody should",
            "Take humaneval or mbpp, which run in a sandbox here",
        )
    for key, reason in REFUSED_KEYS.items():
        if document.get(key):
            raise refuse(name, reason)
    kind = output_type(document)
    if kind == "loglikelihood_rolling":
        raise refuse(
            name,
            "its figure is the likelihood of whole texts (output_type loglikelihood_rolling)",
            "Take wikitext2, or a .jsonl file of {text}, for perplexity",
        )
    if kind not in OUTPUT_TYPES:
        raise refuse(name, unknown_name("output_type", str(kind), list(OUTPUT_TYPES)))
    if int(document.get("repeats") or 1) != 1:
        raise refuse(name, f"it asks {document['repeats']} times for every sample (repeats)")


def output_type(document: Document) -> str:
    """How the model is asked; lm-eval's default where the document does not say."""
    return str(document.get("output_type") or "generate_until")


def chosen_metric(name: str, document: Document) -> str:
    """`metric,filter` of the task's figure: the metric that metadata.metric names, else the first
    whose figure is the mean over samples, larger being better."""
    listed = document.get("metric_list") or [{"metric": DEFAULT_METRIC[output_type(document)]}]
    fit = [str(one["metric"]) for one in listed if _is_mean(one)]
    wanted = (document.get("metadata") or {}).get("metric")
    if wanted is not None and wanted not in fit:
        raise refuse(name, unknown_name("metric", str(wanted), fit or ["none that is a mean"]))
    if not fit:
        told = ", ".join(f"{one.get('metric')} ({_short(one)})" for one in listed)
        raise refuse(
            name,
            "none of its metrics is a mean over samples of which more is better, as a paired "
            f"comparison needs: {told}",
        )
    return f"{wanted or fit[0]},{_first_filter(document)}"


def _is_mean(metric: Mapping[str, Any]) -> bool:
    """Whether a score of a sample is a number and the task's figure their mean."""
    name = metric.get("metric")
    if isinstance(name, FunctionName) or metric.get("hf_evaluate"):
        return False
    known = name in ("acc", "acc_norm", "acc_bytes", "exact_match")
    aggregation = metric.get("aggregation", "mean" if known else None)
    if isinstance(aggregation, FunctionName) or NO_SHARE.match(str(name)):
        return False
    return aggregation == "mean" and metric.get("higher_is_better", known) is True


def _short(metric: Mapping[str, Any]) -> str:
    aggregation = metric.get("aggregation", "lm-eval's own aggregation")
    return str(aggregation) if metric.get("higher_is_better", True) is True else "less is better"


def _first_filter(document: Document) -> str:
    filters = document.get("filter_list") or []
    return str(filters[0].get("name", "none")) if filters else "none"


def check_shares(name: str, metric: str, scores: Sequence[float]) -> None:
    """Raises where a score is none that a mean of shares can be taken of."""
    wrong = next((score for score in scores if not 0 <= score <= 1), None)
    if wrong is not None:
        raise refuse(
            name,
            f"its metric {metric} scores a sample with {wrong:g}, and the mean over tasks is of "
            "scores from 0 to 1",
            "Write a task file that includes it and names another metric in metadata.metric",
        )


def few_shot(document: Document) -> int:
    """Worked examples before a question; 0 where the document does not say."""
    return int(document.get("num_fewshot") or 0)


def evaluated_split(name: str, document: Document) -> str:
    """The split whose rows are asked: test, else validation, as lm-eval has it."""
    split = document.get("test_split") or document.get("validation_split")
    if not split:
        raise refuse(name, 'it names no split to evaluate ("test_split" or "validation_split")')
    return str(split)


def example_split(document: Document) -> str | None:
    """The split that worked examples are taken from; None where the document holds them itself."""
    config = document.get("fewshot_config") or {}
    if isinstance(config, Mapping) and config.get("samples"):
        return None
    own = config.get("split") if isinstance(config, Mapping) else None
    found = own or document.get("fewshot_split") or document.get("training_split")
    return None if found is None else str(found)
