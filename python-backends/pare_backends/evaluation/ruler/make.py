"""The rows of a task of RULER, of every length that is asked for."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pare_backends.evaluation.ruler import needles
from pare_backends.evaluation.ruler.frequency import CommonWords, FrequentWords
from pare_backends.evaluation.ruler.material import Asked, NoRoom
from pare_backends.evaluation.ruler.questions import SOURCES, Questions, read_questions
from pare_backends.evaluation.ruler.tracking import Tracking
from pare_backends.evaluation.tasks.records import Row
from pare_backends.failures import CallFailure
from pare_backends.knobs import unknown_name

LEFT = 64
"""Tokens that are left free at the model's own length: for how an answer begins, and a template."""
LEAST = 512
DEPTHS = 5
"""Parts of a text, by which scores are told."""
QUESTIONS = {"qa_1": "squad", "qa_2": "hotpotqa"}
MAKERS: dict[str, Callable[[Asked], list[Row]]] = {
    "vt": lambda asked: Tracking(asked).rows(),
    "cwe": lambda asked: CommonWords(asked).rows(),
    "fwe": lambda asked: FrequentWords(asked).rows(),
}
DRAWN_VALUES = 9
"""Beside the true one, of which a model that guesses finds one in ten."""


def ruler_rows(
    task: str, said: Mapping[str, Any], tokenizer: Any, context: int | None, source: Path | None
) -> list[Row]:
    """Rows of all lengths of a definition's `metadata.generator`: `task`, `lengths`, `count` of
    each length, `seed`; `rank` makes choices of it. context: tokens that the model reads, None: not
    known. A length that is longer is left out where others are left."""
    name, lengths = str(said["task"]), [int(one) for one in said["lengths"]]
    wrong = [one for one in lengths if one < LEAST]
    if wrong:
        raise CallFailure(
            "bad_input",
            f"Cannot make {task} of {wrong[0]} tokens: it is made of {LEAST} and more",
        )
    fitting = [one for one in lengths if context is None or one <= context]
    if not fitting:
        raise CallFailure(
            "bad_input",
            f"Cannot make {task} of {min(lengths)} tokens: the model reads {context}",
            hint=f"Name a length that it reads, such as {_plain(task, lengths)}:{context}",
        )
    found: list[Row] = []
    for length in fitting:
        room = length if context is None else min(length, context - LEFT)
        asked = Asked(
            room,
            int(said["count"]),
            int(said["seed"]),
            lambda text: _count(tokenizer, text),
            source,
        )
        try:
            rows = _of_length(task, name, asked)
        except NoRoom:
            continue
        found += [{**row, "length": length, "place": _place(length, row["depth"])} for row in rows]
    if not found:
        raise CallFailure(
            "bad_input",
            f"Cannot make {task} of {max(fitting)} tokens: not one sample fits into so few",
            hint=_longer(_plain(task, lengths), 2 * max(fitting), context),
        )
    return _ranked(found, int(said["seed"])) if said.get("rank") else found


def _longer(task: str, length: int, context: int | None) -> str:
    """What to do where a length is too short."""
    if context is not None and length > context:
        return f"The model reads {context} tokens: take one that reads more, or another task"
    return f"Name a greater length, such as {task}:{length}"


def _plain(task: str, lengths: Sequence[int]) -> str:
    """The task's name without the lengths that a user has named."""
    return task.removesuffix("_" + "_".join(map(str, lengths)))


def _count(tokenizer: Any, text: str) -> int:
    return len(tokenizer(text).input_ids)


def _of_length(task: str, name: str, asked: Asked) -> list[Row]:
    if name in needles.TASKS:
        return needles.samples(needles.TASKS[name], asked)
    if name in QUESTIONS:
        return _questions(task, name, asked)
    if name not in MAKERS:
        known = [*needles.TASKS, *MAKERS, *QUESTIONS]
        raise CallFailure(
            "bad_input",
            f"Cannot make the rows of {task}: {unknown_name('task of RULER', name, known)}",
        )
    return MAKERS[name](asked)


def _questions(task: str, name: str, asked: Asked) -> list[Row]:
    kind = QUESTIONS[name]
    if asked.source is None:
        file, where = SOURCES[kind]
        raise CallFailure(
            "bad_input",
            f"Cannot make {task}: it asks questions of {kind}, which are not here",
            hint=f"Put {file} of {where} into a folder ruler, and name what holds it by --data-dir",
        )
    questions, documents = read_questions(kind, asked.source)  # type: ignore[arg-type]
    return Questions(asked, questions, documents).rows()


def _place(length: int, depth: float | None) -> str:
    """The group of a row: length, and the part of the text where what is asked for stands."""
    if depth is None:
        return f"{length} tokens"
    part = min(int(depth * DEPTHS / 100), DEPTHS - 1) * 100 // DEPTHS
    return f"{length} tokens depth {part}-{part + 100 // DEPTHS}"


def _ranked(rows: list[Row], seed: int) -> list[Row]:
    """The same rows as choices: the true number among nine drawn ones, in a drawn order."""
    drawing = random.Random(f"{seed}/rank")
    found = []
    for row in rows:
        choices = [row["outputs"][0]]
        while len(choices) <= DRAWN_VALUES:
            drawn = str(drawing.randint(1_000_000, 9_999_999))
            if drawn not in choices:
                choices.append(drawn)
        drawing.shuffle(choices)
        found.append({**row, "choices": choices, "answer": choices.index(row["outputs"][0])})
    return found
