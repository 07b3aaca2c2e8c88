"""RULER's eight needle tasks: values of keys, hidden in a haystack at drawn depths.

Prompts are RULER's own (Apache-2.0). What is drawn is drawn in the order of lm-evaluation-harness,
so that a seed gives its samples where the haystack is the same.
"""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass
from typing import Literal

from pare_backends.evaluation.ruler.material import Asked, NoRoom, prose, sentences, word_pairs
from pare_backends.evaluation.tasks.records import Row

NEW_TOKENS = 128
NEEDLE = "One of the special magic {kind} for {key} is: {value}."
NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
SEVERAL = (
    "Some special magic {kind} are hidden within the following text. Make sure to memorize it."
    " I will quiz you about the {kind} afterwards.\n{context}\nWhat are all the special magic"
    " {kind} for {query} mentioned in the provided text?"
)
ONE = (
    "A special magic {kind} is hidden within the following text. Make sure to memorize it. I will"
    " quiz you about the {kind} afterwards.\n{context}\nWhat is the special magic {kind} for"
    " {query} mentioned in the provided text?"
)
SHUFFLE_SEED = 42
DEPTHS = [round(100 * step / 39) for step in range(40)]
"""Percent."""
LARGE = 4096
"""Tokens from which on a haystack grows by larger steps."""

Kind = Literal["numbers", "words", "uuids"]


@dataclass(frozen=True)
class Needles:
    """What one task hides, in what, and how much of it is asked for."""

    haystack: Literal["noise", "prose", "needles"]
    keys: Kind = "words"
    values: Kind = "numbers"
    hidden_keys: int = 1
    values_of_key: int = 1
    asked_keys: int = 1

    @property
    def one(self) -> bool:
        """Whether a single value is asked for."""
        return self.asked_keys * self.values_of_key == 1


TASKS = {
    "niah_single_1": Needles("noise"),
    "niah_single_2": Needles("prose"),
    "niah_single_3": Needles("prose", values="uuids"),
    "niah_multikey_1": Needles("prose", hidden_keys=4),
    "niah_multikey_2": Needles("needles"),
    "niah_multikey_3": Needles("needles", keys="uuids", values="uuids"),
    "niah_multivalue": Needles("prose", values_of_key=4),
    "niah_multiquery": Needles("prose", hidden_keys=4, asked_keys=4),
}


@dataclass(frozen=True)
class Hidden:
    """A sample before it is a row."""

    prompt: str
    answers: list[str]
    query: str
    depth: float
    """Percent of the text that stands before what is asked for, their mean."""


def samples(task: Needles, asked: Asked) -> list[Row]:
    """Rows of one task and length. Raises `NoRoom` where not one fits."""
    drawing = random.Random(asked.seed)
    step = _step(task, asked.length)
    needles = task.hidden_keys * task.values_of_key
    size = _largest(task, asked, drawing, step, needles)
    rows = []
    for number in range(asked.count):
        made = _fitting(task, asked, drawing, size, step, needles)
        if made is None:
            continue
        sample, tokens = made
        kind = task.values[:-1] if task.one else task.values
        verb = "is" if task.one else "are"
        rows.append(
            {
                "index": number,
                "input": sample.prompt,
                "gen_prefix": f"The special magic {kind} for {sample.query} mentioned in the"
                f" provided text {verb}",
                "outputs": sample.answers,
                "tokens": tokens,
                "depth": sample.depth,
            }
        )
    if not rows:
        raise NoRoom
    return rows


def _step(task: Needles, length: int) -> int:
    """Pieces of the haystack by which it grows: words of prose, else sentences. Below 4,096 tokens
    prose grows by fewer than elsewhere: 500 words would leave half of the length empty."""
    if task.haystack == "prose":
        return 500 if length >= LARGE else 25
    return 25 if length >= LARGE else 5


def _largest(task: Needles, asked: Asked, drawing: random.Random, step: int, needles: int) -> int:
    """Pieces of the largest haystack that fits."""
    size, tokens = max(step, needles), 0
    while tokens + NEW_TOKENS < asked.length:
        sample = _hide(task, asked, drawing, size)
        tokens = asked.tokens_of(sample.prompt + " ".join(sample.answers))
        if tokens + NEW_TOKENS > asked.length:
            size -= step
            break
        size += step
    return max(size, needles)


def _fitting(
    task: Needles, asked: Asked, drawing: random.Random, size: int, step: int, needles: int
) -> tuple[Hidden, int] | None:
    """A sample that fits with its answer, and its tokens; None: not even the smallest does."""
    while size >= needles:
        sample = _hide(task, asked, drawing, size)
        tokens = asked.tokens_of(sample.prompt)
        if tokens + NEW_TOKENS <= asked.length:
            return sample, tokens
        size -= step
    return None


def _draw(kind: Kind, drawing: random.Random) -> str:
    if kind == "numbers":
        return str(drawing.randint(1_000_000, 9_999_999))
    if kind == "words":
        return drawing.choice(word_pairs())
    return str(uuid.UUID(int=drawing.getrandbits(128), version=4))


def _hide(task: Needles, asked: Asked, drawing: random.Random, size: int) -> Hidden:
    keys: list[str] = []
    values: list[list[str]] = []
    needles: list[str] = []
    for _ in range(task.hidden_keys):
        keys.append(_draw(task.keys, drawing))
        values.append([])
        for _ in range(task.values_of_key):
            value = _draw(task.values, drawing)
            values[-1].append(value)
            needles.append(NEEDLE.format(kind=task.values, key=keys[-1], value=value))
    random.Random(SHUFFLE_SEED).shuffle(needles)
    context = (
        _in_prose(needles, asked, drawing, size)
        if task.haystack == "prose"
        else _in_sentences(task, needles, drawing, size)
    )
    places = drawing.sample(range(task.hidden_keys), task.asked_keys)
    answers = [value for place in places for value in values[place]]
    queries = [keys[place] for place in places]
    query = queries[0] if len(queries) == 1 else f"{', '.join(queries[:-1])}, and {queries[-1]}"
    prompt = (ONE if task.one else SEVERAL).format(
        kind=task.values[:-1] if task.one else task.values, context=context, query=query
    )
    depths = [
        context.index(NEEDLE.format(kind=task.values, key=keys[place], value=value))
        for place in places
        for value in values[place]
    ]
    return Hidden(prompt, answers, query, 100 * sum(depths) / len(depths) / len(context))


def _in_prose(needles: list[str], asked: Asked, drawing: random.Random, size: int) -> str:
    """Between sentences, at depths of forty. A text that is too short is begun again."""
    text = prose(asked.source)
    read = sentences(" ".join(text[place % len(text)] for place in range(size)))
    places = sorted(len(read) * depth // 100 for depth in drawing.sample(DEPTHS, len(needles)))
    parts: list[str] = []
    for start, end, needle in zip([0, *places], places, needles, strict=False):
        parts += [" ".join(read[start:end]), needle]
    return " ".join([*parts, " ".join(read[places[-1] :])])


def _in_sentences(task: Needles, needles: list[str], drawing: random.Random, size: int) -> str:
    """Between lines of noise, or of needles that nobody asks for."""
    lines = [NOISE] * size
    if task.haystack == "needles":
        lines = []
        for _ in range(size):
            key = _draw(task.keys, drawing)
            value = _draw(task.values, drawing)
            lines.append(NEEDLE.format(kind=task.values, key=key, value=value))
    for place, needle in zip(
        sorted(drawing.sample(range(size), len(needles)), reverse=True), needles, strict=True
    ):
        lines.insert(place, needle)
    return "\n".join(lines)
