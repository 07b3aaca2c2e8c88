"""Text that methods work on must be none that is evaluated: equal paragraphs and runs of words.

A run of 13 words in a row is what decontamination of training data looks for (GPT-3, lm-eval). A
sample of fewer words is found as a whole line only: its text, or two of its texts one after the
other, such as a question with its answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pare_backends.evaluation.tasks.records import Row, content_hash

RUN = 13
"""Words in a row that two texts have in common only where one was taken from the other."""
SHORTEST_PARAGRAPH = 50
"""Characters from which on two equal paragraphs are the same text, not a heading or a phrase."""
SHORTEST_SAMPLE = 4
"""Words from which on a line that is equal to a short sample is that sample, not a heading."""
WORD = re.compile(r"\w+")


def paragraph_names(rows: Iterable[Row]) -> set[str]:
    """What tells the paragraphs in the rows' texts, at any depth: their hashes, and the words of
    samples that are too short to share a run."""
    found: set[str] = set()
    for row in rows:
        texts = list(texts_of(row))
        found.update(content_hash(p) for text in texts for p in _paragraphs(text))
        found.update(_short_samples([_words(text) for text in texts]))
    return found


def without_paragraphs(texts: Sequence[str], excluded: set[str]) -> tuple[list[str], int]:
    """The texts without the excluded paragraphs, and how many were taken out."""
    kept: list[str] = []
    removed = 0
    for text in texts:
        parts = text.split("\n")
        whole = excluded.isdisjoint(_name(_words(text)))  # no short sample over several lines
        left = [p for p in parts if whole and excluded.isdisjoint(_names(p))]
        removed += len(parts) - len(left)
        if any(part.strip() for part in left):
            kept.append("\n".join(left).strip("\n"))
    return kept, removed


def evaluated_windows(
    windows: Sequence[str], rows: Mapping[str, Iterable[Row]]
) -> dict[int, tuple[str, int]]:
    """Windows that have a run of words in common with an evaluated sample.

    windows: their texts
    rows: evaluated rows by task
    returns: by the window's number, the task and the row of the first sample that it shares
    """
    places: dict[tuple[str, ...], list[int]] = {}
    for number, text in enumerate(windows):
        for run in _runs(text):
            places.setdefault(run, []).append(number)
    found: dict[int, tuple[str, int]] = {}
    for task, every in rows.items():
        for row_number, row in enumerate(every):
            for text in texts_of(row):
                for run in _runs(text):
                    for number in places.get(run, ()):
                        found.setdefault(number, (task, row_number))
    return found


def texts_of(value: Any) -> Iterable[str]:
    """Every string in a row, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def _short_samples(texts: Sequence[Sequence[str]]) -> Iterable[str]:
    """The words of a row's texts, each alone and before each other one, of those that have no run
    of words to be found by."""
    short = [text for text in texts if len(text) < RUN]
    for one in short:
        yield from _name(one)
        for other in short:
            if other is not one:
                yield from _name((*one, *other))


def _name(words: Sequence[str]) -> Iterable[str]:
    """What tells a short sample, or a line that may be one."""
    if SHORTEST_SAMPLE <= len(words) <= 2 * (RUN - 1):
        yield " ".join(words)


def _runs(text: str) -> Iterable[tuple[str, ...]]:
    words = _words(text)
    for start in range(len(words) - RUN + 1):
        yield tuple(words[start : start + RUN])


def _paragraphs(text: str) -> Iterable[str]:
    for part in text.split("\n"):
        plain = re.sub(r"\s+", " ", part).strip().lower()
        if len(plain) >= SHORTEST_PARAGRAPH:
            yield plain


def _names(part: str) -> set[str]:
    return {content_hash(p) for p in _paragraphs(part)} | {*_name(_words(part))}
