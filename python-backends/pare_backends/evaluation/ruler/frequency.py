"""RULER's two tasks of counting: the most common words of a list, and of a coded text. Prompts are
RULER's own (Apache-2.0)."""

from __future__ import annotations

import random
import string

import numpy as np

from pare_backends.evaluation.ruler.material import Asked, NoRoom, words
from pare_backends.evaluation.tasks.records import Row

COMMON_NEW_TOKENS = 120
FREQUENT_NEW_TOKENS = 50
LIST = (
    "Below is a numbered list of words. In these words, some appear more often than others."
    " Memorize the ones that appear most often.\n{context}\nQuestion: What are the 10 most common"
    " words in the above list?"
)
LIST_PREFIX = "Answer: The top 10 words that appear most often in the list are:"
CODED = (
    "Read the following coded text and track the frequency of each coded word. Find the three most"
    " frequently appeared coded words. {context}\nQuestion: Do not provide any explanation. Please"
    " ignore the dots '....'. What are the three most frequently appeared words in the above coded"
    " text?"
)
CODED_PREFIX = (
    "Answer: According to the coded text above, the three most frequently appeared words are:"
)
SHUFFLE_SEED = 42
COMMON = 10
STEP = 10
SHORT = 4096
"""Tokens below which words are repeated less often."""
LETTERS = 6
ALPHA = 2.0


class CommonWords:
    """Ten words stand more often in a list than the others; a worked example comes first."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._drawing = random.Random(asked.seed)
        self._shuffling = random.Random(SHUFFLE_SEED)
        self._words = sorted({*words("nouns"), *words("adjectives"), *words("verbs")})
        self._shuffling.shuffle(self._words)

    def rows(self) -> list[Row]:
        """Raises `NoRoom` where not even ten words fit."""
        asked, size = self._asked, self._most_words()
        rows = []
        for number in range(asked.count):
            used = size
            while True:
                example, question, answers = self._pair(used)
                prompt = f"{question} {LIST_PREFIX}"
                if asked.tokens_of(prompt) + COMMON_NEW_TOKENS <= asked.length:
                    break
                used -= STEP
                if used < COMMON:
                    raise NoRoom
            rows.append(
                {
                    "index": number,
                    "input": question,
                    "input_example": example,
                    "gen_prefix": LIST_PREFIX,
                    "outputs": answers,
                    "tokens": asked.tokens_of(f"{example}\n{prompt}"),
                    "depth": None,
                }
            )
        return rows

    def _most_words(self) -> int:
        size, tokens = STEP, 0
        while tokens + COMMON_NEW_TOKENS < self._asked.length:
            example, question, answers = self._pair(size)
            text = f"{example}\n{question} {LIST_PREFIX} {_numbered(answers)}"
            tokens = self._asked.tokens_of(text)
            if tokens + COMMON_NEW_TOKENS > self._asked.length:
                size -= STEP
                break
            size += STEP
            if size > len(self._words):
                return len(self._words)
        if size < COMMON:
            raise NoRoom
        return size

    def _pair(self, size: int) -> tuple[str, str, list[str]]:
        """A worked example, a question and its answers."""
        short = self._asked.length < SHORT
        example, solved = self._list(20, 3, 1) if short else self._list(40, 10, 3)
        context, answers = self._list(size, 6, 1) if short else self._list(size, 30, 3)
        shown = f"{LIST.format(context=example)} {LIST_PREFIX}{_numbered(solved)}"
        return shown, LIST.format(context=context), answers

    def _list(self, size: int, common: int, other: int) -> tuple[str, list[str]]:
        drawn = self._drawing.sample(self._words, size)
        listed = drawn[:COMMON] * common + drawn[COMMON:] * other
        self._shuffling.shuffle(listed)
        return _numbered(listed), drawn[:COMMON]


def _numbered(listed: list[str]) -> str:
    return " ".join(f"{number}. {word}" for number, word in enumerate(listed, start=1))


class FrequentWords:
    """Coded words whose frequencies fall by a power law; dots, the most frequent, are no word."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._drawing = random.Random(asked.seed)

    def rows(self) -> list[Row]:
        """The text fills the length without its answer, as RULER counts it for this task."""
        asked = self._asked
        step = asked.length // 32
        vocabulary = self._vocabulary()
        size = asked.length // LETTERS
        while asked.tokens_of(self._text(vocabulary, size)) < asked.length:
            size += step
        size -= step
        rows = []
        for number in range(asked.count):
            vocabulary, used = self._vocabulary(), size
            while (tokens := asked.tokens_of(self._text(vocabulary, used))) > asked.length:
                used -= step
            rows.append(
                {
                    "index": number,
                    "input": self._text(vocabulary, used).removesuffix(f" {CODED_PREFIX}").strip(),
                    "gen_prefix": CODED_PREFIX,
                    "outputs": vocabulary[1:4],
                    "tokens": tokens,
                    "depth": None,
                }
            )
        return rows

    def _vocabulary(self) -> list[str]:
        size = self._asked.length // 50
        made = [self._word() for _ in range(size)]
        while len(set(made)) < size:
            made.append(self._word())
        made = sorted(set(made))
        random.Random(SHUFFLE_SEED).shuffle(made)
        return ["...", *made[1:]]

    def _word(self) -> str:
        return "".join(self._drawing.choices(string.ascii_lowercase, k=LETTERS))

    def _text(self, vocabulary: list[str], size: int) -> str:
        from scipy.special import zeta

        ranks = np.arange(1, len(vocabulary) + 1)
        times = (size * ranks**-ALPHA / zeta(ALPHA)).astype(int)
        drawn = [word for word, count in zip(vocabulary, times, strict=True) for _ in range(count)]
        random.Random(SHUFFLE_SEED).shuffle(drawn)
        return f"{CODED.format(context=' '.join(drawn))} {CODED_PREFIX}"
