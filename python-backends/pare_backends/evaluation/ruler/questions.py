"""RULER's two tasks of questions: SQuAD's and HotpotQA's, their documents among others of the same
set. The prompt is RULER's own (Apache-2.0)."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pare_backends.evaluation.ruler.material import Asked, NoRoom
from pare_backends.evaluation.tasks.records import Row
from pare_backends.failures import CallFailure

NEW_TOKENS = 32
QUESTION = (
    "Answer the question based on the given documents. Only give me the answer and do not output"
    " any other words.\n\nThe following are given documents.\n\n{context}\n\nAnswer the question"
    " based on the given documents. Only give me the answer and do not output any other words.\n\n"
    "Question: {query}"
)
PREFIX = "Answer:"
SHUFFLE_SEED = 42
STEP = 10
SOURCES = {
    "squad": ("dev-v2.0.json", "https://rajpurkar.github.io/SQuAD-explorer"),
    "hotpotqa": ("hotpot_dev_distractor_v1.json", "https://hotpotqa.github.io"),
}


@dataclass(frozen=True)
class Question:
    """A question with what its answer rests on."""

    text: str
    answers: list[str]
    needed: list[int]
    """Numbers of the documents that hold the answer."""
    near: list[int]
    """Of those that are taken first beside them."""


def read_questions(
    name: Literal["squad", "hotpotqa"], path: Path
) -> tuple[list[Question], list[str]]:
    """The questions of the benchmark's own file, and all of its documents."""
    try:
        data = json.loads(path.read_bytes())
        return _squad(data["data"]) if name == "squad" else _hotpotqa(data)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        file, where = SOURCES[name]
        raise CallFailure(
            "bad_input",
            f"Cannot read {path} as {name}'s questions: {type(error).__name__} {error!s:.80}",
            hint=f"It must be {file} of {where}",
        ) from error


def _squad(data: list[Any]) -> tuple[list[Question], list[str]]:
    documents = sorted({one["context"] for article in data for one in article["paragraphs"]})
    number = {text: place for place, text in enumerate(documents)}
    questions = []
    for article in data:
        own = [number[one["context"]] for one in article["paragraphs"]]
        for paragraph in article["paragraphs"]:
            needed = number[paragraph["context"]]
            questions += [
                Question(
                    one["question"],
                    [answer["text"] for answer in one["answers"]],
                    [needed],
                    [place for place in own if place != needed],
                )
                for one in paragraph["qas"]
                if not one.get("is_impossible")
            ]
    return questions, documents


def _hotpotqa(data: list[Any]) -> tuple[list[Question], list[str]]:
    shown = [[f"{title}\n{''.join(lines)}" for title, lines in one["context"]] for one in data]
    documents = sorted({text for texts in shown for text in texts})
    number = {text: place for place, text in enumerate(documents)}
    return [
        Question(one["question"], [one["answer"]], [number[text] for text in texts], [])
        for one, texts in zip(data, shown, strict=True)
    ], documents


class Questions:
    """Asks the first questions of a set, each among so many documents as fit."""

    def __init__(self, asked: Asked, questions: list[Question], documents: list[str]) -> None:
        self._asked = asked
        self._questions, self._documents = questions, documents
        self._drawing = random.Random(asked.seed)

    def rows(self) -> list[Row]:
        """Raises `NoRoom` where no question fits with its own documents."""
        most, rows = self._most_documents(), []
        for number, question in enumerate(self._questions[: self._asked.count]):
            least = len(question.needed)
            for used in [*range(max(most, least), least, -STEP), least]:
                text = self._ask(question, used)
                tokens = self._asked.tokens_of(text)
                if tokens + NEW_TOKENS <= self._asked.length:
                    rows.append(
                        {
                            "index": number,
                            "input": text,
                            "gen_prefix": PREFIX,
                            "outputs": question.answers,
                            "tokens": tokens,
                            "depth": None,
                        }
                    )
                    break
        if not rows:
            raise NoRoom
        return rows

    def _most_documents(self) -> int:
        size, tokens, first = STEP, 0, self._questions[0]
        while tokens + NEW_TOKENS < self._asked.length:
            # A list is counted as Python writes it, as the harness counts it.
            tokens = self._asked.tokens_of(f"{self._ask(first, size)} {first.answers}")
            if tokens + NEW_TOKENS > self._asked.length:
                size -= STEP
                break
            size += STEP
            if size > len(self._documents):
                return len(self._documents)
        return max(size, 1)

    def _ask(self, question: Question, size: int) -> str:
        chosen = [self._documents[place] for place in self._places(question, size)]
        random.Random(SHUFFLE_SEED).shuffle(chosen)
        context = "\n\n".join(
            f"Document {number}:\n{text}" for number, text in enumerate(chosen, start=1)
        )
        return QUESTION.format(context=context, query=question.text)

    def _places(self, question: Question, size: int) -> list[int]:
        needed, near = question.needed, question.near
        if size >= len(self._documents):
            return list(range(len(self._documents)))
        if size - len(needed) <= len(near):
            return [*needed, *self._drawing.sample(near, max(0, size - len(needed)))]
        own = {*needed, *near}
        others = [place for place in range(len(self._documents)) if place not in own]
        more = self._drawing.sample(others, size - len(needed) - len(near))
        return [*needed, *near, *more]
