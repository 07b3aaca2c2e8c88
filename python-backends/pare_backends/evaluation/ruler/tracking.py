"""RULER's variable tracking: five names that are given one value in a chain, between lines of
noise, after one worked example. Its prompt is RULER's own (Apache-2.0)."""

from __future__ import annotations

import itertools
import random
import string
from dataclasses import dataclass

import numpy as np

from pare_backends.evaluation.ruler.material import Asked, NoRoom
from pare_backends.evaluation.tasks.records import Row

NEW_TOKENS = 30
HOPS = 4
NOISE = (
    "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.\n"
)
QUESTION = (
    "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n"
    "{context}\nQuestion: Find all variables that are assigned the value {value} in the text above."
)
PREFIX = (
    "Answer: According to the chain(s) of variable assignment in the text above, {count} variables"
    " are assigned the value {value}, they are: "
)
EXAMPLE_LENGTH = 500
EXAMPLE_STEP = 5
STEP = 10


@dataclass(frozen=True)
class Chain:
    """A question with the names that are its answer."""

    question: str
    prefix: str
    names: list[str]

    @property
    def text(self) -> str:
        """The whole prompt."""
        return f"{self.question} {self.prefix}"


class Tracking:
    """Draws questions: letters and places by Python's generator, values by numpy's, as the harness
    does."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._drawing = random.Random(asked.seed)
        self._numbers = np.random.RandomState(asked.seed % 2**32)

    def rows(self) -> list[Row]:
        """Raises `NoRoom` where no sample fits beside the worked example."""
        example = self._example()
        shown = f"{example.text} {' '.join(example.names)}\n\n"
        before = self._asked.tokens_of(shown)
        lines = self._most_lines(STEP, self._asked.length - before, letters=5)
        rows = []
        for number in range(self._asked.count):
            made, tokens = self._fitting(lines, STEP, self._asked.length - before, letters=5)
            rows.append(
                {
                    "index": number,
                    "input": f"{self._other_names(shown, example.names)}\n\n{made.question}",
                    "gen_prefix": made.prefix.strip(),
                    "outputs": made.names,
                    "tokens": tokens + before,
                    "depth": None,
                }
            )
        return rows

    def _example(self) -> Chain:
        lines = self._most_lines(EXAMPLE_STEP, EXAMPLE_LENGTH, letters=3)
        return self._fitting(lines, EXAMPLE_STEP, EXAMPLE_LENGTH, letters=3)[0]

    def _most_lines(self, step: int, room: int, letters: int) -> int:
        """Lines of noise that fit."""
        lines, tokens = step, 0
        while tokens + NEW_TOKENS < room:
            made = self._chain(lines, letters)
            tokens = self._asked.tokens_of(f"{made.text} {made.names}")
            if tokens + NEW_TOKENS > room:
                return lines - step
            lines += step
        return lines

    def _fitting(self, lines: int, step: int, room: int, letters: int) -> tuple[Chain, int]:
        while lines > 0:
            made = self._chain(lines, letters)
            tokens = self._asked.tokens_of(made.text)
            if tokens + NEW_TOKENS <= room:
                return made, tokens
            lines -= step
        raise NoRoom

    def _chain(self, lines: int, letters: int) -> Chain:
        names = [self._name(letters) for _ in range(HOPS + 1)]
        value = self._numbers.randint(10_000, 99_999)
        chain = [f"VAR {names[0]} = {value}"]
        chain += [f"VAR {new} = VAR {old} " for old, new in itertools.pairwise(names)]
        text = [NOISE] * lines
        if len(text) <= len(chain):
            pieces = [piece for line in text for piece in line.split(".")]
            text = [f"{piece}." if piece.strip() else piece for piece in pieces]
        places = sorted(self._drawing.sample(range(len(text)), len(chain)))
        for moved, (place, line) in enumerate(zip(places, chain, strict=True)):
            text.insert(place + moved, line)
        context = " ".join(text).replace(". \n", ".\n")
        return Chain(
            QUESTION.format(context=context, value=value),
            PREFIX.format(count=HOPS + 1, value=value),
            names,
        )

    def _name(self, letters: int) -> str:
        return "".join(self._drawing.choices(string.ascii_uppercase, k=letters))

    def _other_names(self, example: str, names: list[str]) -> str:
        """The worked example with names of its own in every sample."""
        for name in names:
            example = example.replace(name, self._name(len(name)))
        return example
