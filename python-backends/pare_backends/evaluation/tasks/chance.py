"""Score of guessing, sample by sample: one over the number of choices, 0 where the answer is free.

Nothing is taken for known that is not: where neither the documents nor the task's definition say,
it is None, and a figure that is corrected for chance is then undefined.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from typing import Any

from pare_backends.evaluation.tasks.wire_task import WireTask

RIGHT_OR_WRONG = frozenset({"acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match"})
"""Metrics that are 1 for the right choice and 0 for any other."""
LABEL = re.compile(r"\(?[A-Z]\)|[A-Z]")
"""An answer that names a choice."""
LABELLED = re.compile(r"\(([A-Z])\)|^\s*([A-Z])[.)]\s", re.MULTILINE)
LISTED = re.compile(r"^-\s*(\S.*?)\s*$", re.MULTILINE)
TWO_ANSWERS = ({"yes", "no"}, {"true", "false"})


def chances(
    task: WireTask, lm_task: Any, samples: Sequence[dict[str, Any]], metric: str
) -> list[float | None]:
    """The score of guessing on each of lm-eval's logged samples, which are of one prompt form.

    What a task file or a task of lm-eval says of itself stands; a task of pare's says what its
    documents cannot.
    """
    if task.origin != "plugin" and task.chance is not None:
        return [task.chance] * len(samples)
    if lm_task.OUTPUT_TYPE == "multiple_choice":
        found = [_of_choices(lm_task, sample, metric) for sample in samples]
    elif lm_task.OUTPUT_TYPE == "generate_until":
        found = _of_answers(
            [(_text(lm_task, sample["doc"]), sample["target"]) for sample in samples]
        )
        if task.origin == "plugin" and task.chance and not any(found) and not _has_documents(task):
            return [task.chance] * len(samples)
    else:
        found = [0.0] * len(samples)
    return [task.chance if own is None else own for own in found]


def _has_documents(task: WireTask) -> bool:
    """Whether its groups have documents of their own, of which some may be free where others ask to
    choose."""
    return task.groups is not None and task.groups.include is not None


def _of_choices(lm_task: Any, sample: dict[str, Any], metric: str) -> float | None:
    """One over the number of choices; None where the task's own code scores them."""
    if metric not in RIGHT_OR_WRONG or lm_task.config.process_results is not None:
        return None
    target = sample["target"]
    right = len(set(target)) if isinstance(target, list) else 1
    return right / len(lm_task.doc_to_choice(sample["doc"]))


def _text(lm_task: Any, doc: dict[str, Any]) -> str:
    return str(lm_task.doc_to_text(doc))


def _of_answers(asked: Sequence[tuple[str, Any]]) -> list[float | None]:
    """Written answers: free, unless most of the right ones name a choice. A document whose choices
    cannot be read (one of BIG-Bench Hard's is cut) has as many as most of the others."""
    named = sum(names_choice(text, target) for text, target in asked)
    if named * 2 <= len(asked):
        return [0.0] * len(asked)
    counts = [choices_in(text, target) for text, target in asked]
    read = [count for count in counts if count is not None]
    if len(read) * 2 <= len(counts):
        return [None] * len(asked)
    usual = statistics.mode(read)
    return [1 / (count or usual) for count in counts]


def names_choice(text: str, target: Any) -> bool:
    """Whether a right answer is one of some choices: a label, a listed one, yes or no."""
    if not isinstance(target, str):
        return False
    answer = target.strip()
    return (
        LABEL.fullmatch(answer) is not None
        or any(answer.lower() in pair for pair in TWO_ANSWERS)
        or answer in _listed(text)
    )


def choices_in(text: str, target: Any) -> int | None:
    """How many choices the text offers; None where it shows none and the answer does not say. One
    that shows a choice, and has another for its answer, offers both."""
    answer = str(target).strip()
    labels = {first or second for first, second in LABELLED.findall(_options(text))}
    if labels and LABEL.fullmatch(answer):
        labels.add(answer.strip("()"))
    for shown in (labels, set(_listed(text))):
        if len(shown) > 1:
            return len(shown)
    answer = answer.lower()
    return 2 if any(answer in pair for pair in TWO_ANSWERS) else None


def _options(text: str) -> str:
    """What stands after the last "Options:"; the whole text where no such word does."""
    return text.rpartition("Options:")[2]


def _listed(text: str) -> list[str]:
    return LISTED.findall(_options(text)) if "Options:" in text else []
