"""What RULER's samples are made of: words, prose, and a model's tokens."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pare_backends.evaluation.tasks.records import Row, read_records

TEXT = Path(__file__).parents[2] / "text"
SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\bMr\.)(?<!\bMrs\.)(?<!\bDr\.)['\"]? +(?=['\"]?[A-Z])")


@dataclass(frozen=True)
class Asked:
    """Samples of one task at one length."""

    length: int
    """Tokens of a prompt with its answer, as RULER counts them: most of them are filled."""
    count: int
    seed: int
    tokens_of: Callable[[str], int]
    """How many tokens the model reads a text as."""
    source: Path | None = None
    """The user's file: prose, or questions."""


class NoRoom(Exception):
    """No sample of a task fits this length."""


@functools.cache
def words(kind: str) -> list[str]:
    """The library wonderwords' nouns, adjectives or verbs in order, each once."""
    rows = {row["kind"]: row["words"] for row in read_records(TEXT / "words.jsonl")}
    return str(rows[kind]).split(" | ")


class WordPairs(Sequence[str]):
    """Every adjective with every noun, `blue-fox`, in alphabetical order: six million, of which
    none is made before it is asked for."""

    def __init__(self) -> None:
        self._nouns = words("nouns")
        self._groups: list[list[str]] = []
        # What one adjective begins with, such as "old-" of "old-fashioned", is sorted among it.
        for one in words("adjectives"):
            if self._groups and f"{one}-".startswith(f"{self._groups[-1][0]}-"):
                self._groups[-1].append(one)
            else:
                self._groups.append([one])
        sizes = [len(group) * len(self._nouns) for group in self._groups]
        self._starts = [sum(sizes[:place]) for place in range(len(sizes) + 1)]

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, place: int) -> str:  # type: ignore[override]
        group = bisect.bisect_right(self._starts, place) - 1
        first, *more = self._groups[group]
        within = place - self._starts[group]
        return _sorted(first, *more)[within] if more else f"{first}-{self._nouns[within]}"


@functools.cache
def _sorted(*adjectives: str) -> list[str]:
    return sorted(f"{one}-{noun}" for one in adjectives for noun in words("nouns"))


@functools.cache
def word_pairs() -> WordPairs:
    """The pairs, made once."""
    return WordPairs()


@functools.cache
def prose(source: Path | None) -> list[str]:
    """The words of a file of `{text}`; of the first chapters of William Morris' News from Nowhere
    (1890, in the public domain) where none is given."""
    rows: list[Row] = read_records(source or TEXT / "news_from_nowhere.jsonl", {"text": "string"})
    return " ".join(str(row["text"]) for row in rows).split()


def sentences(text: str) -> list[str]:
    """The sentences of English prose."""
    return [one for one in SENTENCE_END.split(text.strip()) if one]
