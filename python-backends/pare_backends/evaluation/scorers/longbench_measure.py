"""LongBench's measures (Bai et al. 2024): the best score of an answer over those that are right.

Written by what the benchmark's own scorer gives, oddities included: a class that is part of another
one's name, digits anywhere in an answer, lines of code with `#` or `//` that are passed over.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pare_backends.evaluation.scoring.answer import OWN, Answer, Score
from pare_backends.evaluation.tasks.records import Row

NO_CODE = ("`", "#", "//")
"""What a line of code does not hold: a fence or a remark."""
SMALLEST = 1e-8
"""Added below the line of ROUGE-L's F, as the library `rouge` has it."""


@dataclass(frozen=True)
class Params:
    measure: str
    answers: str
    """Field of the row with the right answers."""
    classes: str
    first_line: bool


def score(answer: Answer, row: Row, params: Params) -> Score:
    """The best score over the right answers; 0 where there are none."""
    said = answer.text
    if params.first_line:
        said = said.lstrip("\n").split("\n")[0]
    right = [str(one) for one in row[params.answers]]
    if params.measure == "classification":
        classes = [str(one) for one in row[params.classes] or []]
        scores = [classification(said, one, classes) for one in right]
    else:
        scores = [MEASURES[params.measure](said, one) for one in right]
    values = {OWN: max(scores, default=0.0)}
    if params.measure == "f1":
        values["exact_match"] = max((exact(said, one) for one in right), default=0.0)
    return Score(values, parsed=said)


def f1(said: str, right: str) -> float:
    """SQuAD's F1 over words without articles and punctuation; 0 where one of the two has no word
    left, even if the other has none either."""
    from transformers.data.metrics.squad_metrics import compute_f1, normalize_answer

    if not normalize_answer(said) or not normalize_answer(right):
        return 0.0
    return float(compute_f1(right, said))


def exact(said: str, right: str) -> float:
    """SQuAD's exact match."""
    from transformers.data.metrics.squad_metrics import compute_exact

    return float(compute_exact(right, said))


def rouge_l(said: str, right: str) -> float:
    """F of ROUGE-L of a summary as the library `rouge` 1.0.1 gives it (Lin 2004, 3.2): sentences
    end at full stops, and each different word counts once. 0 where one of the two has none."""
    spoken, wanted = _sentences(said), _sentences(right)
    if not spoken or not wanted:
        return 0.0
    shared = {word for one in wanted for other in spoken for word in _common(one, other)}
    recall = len(shared) / len({word for one in wanted for word in one})
    precision = len(shared) / len({word for one in spoken for word in one})
    return 2.0 * ((precision * recall) / (precision + recall + SMALLEST))


def _sentences(text: str) -> list[list[str]]:
    """Words by sentence; one of spaces alone has a single empty word."""
    return [part.split() or [""] for part in text.split(".") if part]


def _common(wanted: Sequence[str], spoken: Sequence[str]) -> list[str]:
    """Words of a longest common subsequence: of several that one which is found from the end, where
    a word of `spoken` is given up first."""
    longest = [[0] * (len(spoken) + 1)]
    for word in wanted:
        above, row = longest[-1], [0]
        for place, other in enumerate(spoken):
            row.append(above[place] + 1 if word == other else max(above[place + 1], row[place]))
        longest.append(row)
    found: list[str] = []
    i, j = len(wanted), len(spoken)
    while i > 0 and j > 0:
        if wanted[i - 1] == spoken[j - 1]:
            found.append(wanted[i - 1])
            i, j = i - 1, j - 1
        elif longest[i - 1][j] > longest[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return found


def edit_similarity(said: str, right: str) -> float:
    """Hundredths of likeness of the first line of code and the right one, by difflib, as the
    library `fuzzywuzzy` without its C part has it."""
    lines = said.lstrip("\n").split("\n")
    line = next((one for one in lines if not any(mark in one for mark in NO_CODE)), "")
    if line == right:
        return 1.0
    if not line or not right:
        return 0.0
    return round(100 * difflib.SequenceMatcher(None, line, right).ratio()) / 100


def classification(said: str, right: str, classes: Sequence[str]) -> float:
    """One over the number of classes that are named, where the right one is among them. A class
    whose name is part of the right one's is left out, but for the one after such a class: the
    benchmark's scorer deletes from the list that it walks along, and its figures are made so."""
    named = [one for one in classes if one in said]
    for one in named:
        if one in right and one != right:
            named.remove(one)
    return 1.0 / len(named) if right in named else 0.0


def retrieval(said: str, right: str) -> float:
    """The share of the numbers in the answer that are the right paragraph's."""
    found = re.search(r"Paragraph (\d+)", right)
    return 0.0 if found is None else count(said, found.group(1))


def count(said: str, right: str) -> float:
    """The share of the numbers in the answer that are the right one; 0 where it has none."""
    numbers = re.findall(r"\d+", said)
    return numbers.count(right) / len(numbers) if numbers else 0.0


MEASURES: dict[str, Callable[[str, str], float]] = {
    "f1": f1,
    "rouge_l": rouge_l,
    "edit_similarity": edit_similarity,
    "retrieval": retrieval,
    "count": count,
}
