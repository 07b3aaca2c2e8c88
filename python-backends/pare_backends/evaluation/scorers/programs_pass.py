"""Programs that pass the test of their problem, as those of HumanEval and MBPP.

Several programs a problem are tried, each in a sandbox; a problem's score is the share of them that
pass, which is pass@1.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from pare_backends.evaluation.outcome import SliceScore, mean_and_error
from pare_backends.evaluation.scoring.answer import OWN, Score
from pare_backends.evaluation.scoring.context import Scoring, Surroundings
from pare_backends.evaluation.tasks.records import Row
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure, one_line
from pare_backends.sandbox.verdict import CodeTest, Verdict, judge, source_hash

LATER = 10
"""The other k of pass@k that is reported, where there are so many programs a problem."""


def pass_at_k(programs: int, passed: int, k: int) -> float:
    """Chance that one of `k` programs passes, unbiased: 1 - C(n - c, k) / C(n, k).

    Source: Chen et al. 2021, arXiv 2107.03374, section 2.1. Needs k of at most `programs`.
    """
    if not 0 <= passed <= programs or not 1 <= k <= programs:
        raise ValueError(f"no pass@{k} of {passed} among {programs}")
    return 1 - math.comb(programs - passed, k) / math.comb(programs, k)


def humaneval(row: Row) -> tuple[str, CodeTest]:
    """The prompt goes before a completion. The test is given the prompt too: helpers of some
    problems are in it, and must be the benchmark's own."""
    entry = row["entry_point"]
    before = f"{row['prompt']}\n{row['test']}"  # a function of its description alone is whole
    return row["prompt"], CodeTest(before, (entry,), f"check({entry})")


def mbpp(row: Row) -> tuple[str, CodeTest]:
    """The reference solution says which names are the program's and what is imported; the test's
    own setting-up comes after the program, as two problems need it."""
    try:
        body = ast.parse(row["code"]).body
    except SyntaxError as error:
        raise CallFailure(
            "bad_input",
            f"Cannot read the reference code of MBPP {row['task_id']}: {one_line(error)}",
        ) from error
    imports = [ast.unparse(one) for one in body if isinstance(one, (ast.Import, ast.ImportFrom))]
    names = [one.name for one in body if isinstance(one, (ast.FunctionDef, ast.ClassDef))]
    after = "\n".join([row.get("test_setup_code") or "", *row["test_list"]])
    return "", CodeTest("\n".join(imports), tuple(names), after)


PROBLEMS: dict[str, Callable[[Row], tuple[str, CodeTest]]] = {"humaneval": humaneval, "mbpp": mbpp}


@dataclass(frozen=True)
class Params:
    problem: Literal["humaneval", "mbpp"]
    """How a program and its test are made of a row."""


def score_all(scoring: Scoring, params: Params) -> list[Score]:
    """The share of each problem's programs that pass. Shown is every different program, how
    often it was given and its verdict, as JSON: `{"times": 7, "verdict": "passed", "answer":
    "…"}`; and as parsed how often each verdict came: `{"passed": 7, ...}`."""
    found: list[Score] = []
    total = sum(len(one.texts) for one in scoring.answers)
    done = 0
    for row, answer in zip(scoring.rows, scoring.answers, strict=True):
        beginning, test = PROBLEMS[params.problem](scoring.row(row))
        found.append(_score(scoring.around, beginning, test, answer.texts))
        done += len(answer.texts)
        scoring.around.report.progress(f"{scoring.task.task} tests", done, total, "programs")
    return found


def _score(around: Surroundings, beginning: str, test: CodeTest, programs: Sequence[str]) -> Score:
    if not programs:
        return Score({OWN: 0.0}, parsed="{}", shown="[]")
    distinct = list(dict.fromkeys(programs))
    where = "sandbox" if around.sandboxed else "unsafe"  # whose verdicts a program can forge
    asked = ["programs", where, source_hash(), beginning, dataclasses.astuple(test), distinct]
    kept, _ = around.kept.once(asked, 0, lambda: _run(around, beginning, test, distinct))
    verdicts = {text: Verdict(*one) for text, one in zip(distinct, kept, strict=True)}
    judged = [(text, verdicts[text]) for text in programs]
    return Score(
        {OWN: sum(verdict.passed for _, verdict in judged) / len(judged)},
        parsed=json.dumps(Counter(verdict.how for _, verdict in judged)),
        shown=json.dumps(_shown(judged), ensure_ascii=False),
    )


def _run(
    around: Surroundings, beginning: str, test: CodeTest, programs: Sequence[str]
) -> list[list[Any]]:
    """Verdicts of different programs, as JSON keeps them."""
    with ThreadPoolExecutor(max(1, around.report.threads)) as threads:
        verdicts = threads.map(
            lambda text: judge(beginning + text, test, sandboxed=around.sandboxed), programs
        )
        return [[verdict.passed, verdict.how] for verdict in verdicts]


def _shown(judged: Sequence[tuple[str, Verdict]]) -> list[dict[str, Any]]:
    times = Counter((verdict.how, text) for text, verdict in judged)
    return [{"times": n, "verdict": how, "answer": text} for (how, text), n in times.items()]


def slices(task: WireTask, scores: Sequence[Score], own: str) -> list[SliceScore]:
    """pass@10, where there are ten programs a problem."""
    repeats = int((task.definition or {}).get("repeats", 1))
    if repeats < LATER:
        return []
    passed = [round(one.values[own] * repeats) for one in scores]
    value, error = mean_and_error([pass_at_k(repeats, one, LATER) for one in passed])
    how = f"pass@{LATER} by the unbiased estimator, of {repeats} programs a problem"
    return [SliceScore(f"pass@{LATER}", value, error, len(scores), how, task.chance)]


def how(task: WireTask, around: Surroundings) -> str:
    """How the programs were drawn and judged, for a measurement's method."""
    definition = task.definition or {}
    options = definition.get("generation_kwargs") or {}
    drawn = ", ".join(f"{name} {options[name]}" for name in sorted(options) if name != "until")
    where = "in bubblewrap" if around.sandboxed else "WITHOUT A SANDBOX (--unsafe-code)"
    return f", {definition.get('repeats', 1)} programs a problem ({drawn}), run {where}"
