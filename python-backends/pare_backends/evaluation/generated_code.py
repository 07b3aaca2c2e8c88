"""Tasks whose answers are programs: HumanEval and MBPP.

A task says so in its definition's metadata, `code: "humaneval"`: how a program and its test are
made of a row. Several programs a problem are judged (`repeats`), each in a sandbox; a problem's
score is the share of them that pass, which is pass@1.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.outcome import SampleResult, SliceScore, mean_and_error
from pare_backends.evaluation.served.served_tasks import Refusals
from pare_backends.evaluation.tasks.records import Row
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import StageFailure, one_line
from pare_backends.progress import Report
from pare_backends.sandbox.verdict import (
    CodeTest,
    Verdict,
    judge,
    require_sandbox,
    source_hash,
)

METRIC = "pass@1"
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
        raise StageFailure(
            "bad_input",
            f"Cannot read the reference code of MBPP {row['task_id']}: {one_line(error)}",
        ) from error
    imports = [ast.unparse(one) for one in body if isinstance(one, (ast.Import, ast.ImportFrom))]
    names = [one.name for one in body if isinstance(one, (ast.FunctionDef, ast.ClassDef))]
    after = "\n".join([row.get("test_setup_code") or "", *row["test_list"]])
    return "", CodeTest("\n".join(imports), tuple(names), after)


PROBLEMS: dict[str, Callable[[Row], tuple[str, CodeTest]]] = {"humaneval": humaneval, "mbpp": mbpp}


def code_of(task: WireTask) -> str | None:
    """Which of `PROBLEMS` the task's rows are; None: its answers are no programs."""
    name = ((task.definition or {}).get("metadata") or {}).get("code")
    if name is not None and name not in PROBLEMS:
        known = ", ".join(sorted(PROBLEMS))
        raise StageFailure("bad_input", f'Unknown kind of code problem "{name}". Known: {known}')
    return name


def runnable(
    tasks: Sequence[WireTask], allow_unsafe_code: bool, report: Report, refusals: Refusals
) -> list[WireTask]:
    """The tasks that can be measured here: those whose answers are programs are refused where no
    sandbox can be had, unless that is allowed. Called before a model is loaded; fails where
    nothing is left."""
    names = [task.task for task in tasks if code_of(task) is not None]
    if names and allow_unsafe_code:
        report.alert(
            "unsafe_code", f"the programs written for {', '.join(names)} run without a sandbox"
        )
    left: list[WireTask] = []
    for task in tasks:
        with refusals.of(task):
            if task.task in names and not allow_unsafe_code:
                require_sandbox()
            left.append(task)
    refusals.require_some(left)
    return left


class CodeJudge:
    """Judges the programs of a task's rows. One instance a run over rows, in their order."""

    def __init__(
        self, task: WireTask, rows: int, answers: Answers, report: Report, sandboxed: bool
    ) -> None:
        definition = task.definition or {}
        self._problem = PROBLEMS[code_of(task) or ""]
        self._repeats = int(definition.get("repeats", 1))
        self._label, self._total = f"{task.task} tests", rows * self._repeats
        self._answers, self._report, self._sandboxed = answers, report, sandboxed
        self._judged: list[list[tuple[str, Verdict]]] = []

    def configure(self, config: dict[str, Any]) -> None:
        """Makes lm-eval keep every generation of a row and score them by this judge."""

        def process_results(doc: Row, results: Sequence[Sequence[str]]) -> dict[str, float]:
            # A function, as lm-eval copies what it is given: a method would be copied with its
            # judge, whose report holds a lock.
            return self._score(doc, results)

        config["process_results"] = process_results
        config["filter_list"] = [
            {"name": "none", "filter": [{"function": "custom", "filter_fn": _every}]}
        ]
        config["metric_list"] = [
            {"metric": METRIC, "aggregation": "mean", "higher_is_better": True}
        ]

    def _score(self, doc: Row, results: Sequence[Sequence[str]]) -> dict[str, float]:
        completions = list(results[0])
        beginning, test = self._problem(doc)
        distinct = list(dict.fromkeys(completions))
        where = "sandbox" if self._sandboxed else "unsafe"  # whose verdicts a program can forge
        asked = ["programs", where, source_hash(), beginning, dataclasses.astuple(test), distinct]
        found, _ = self._answers.once(asked, 0, lambda: self._run(beginning, test, distinct))
        verdicts = {text: Verdict(*one) for text, one in zip(distinct, found, strict=True)}
        self._judged.append([(text, verdicts[text]) for text in completions])
        done = sum(len(one) for one in self._judged)
        self._report.progress(self._label, done, self._total, "programs")
        return {METRIC: sum(verdicts[text].passed for text in completions) / len(completions)}

    def _run(self, beginning: str, test: CodeTest, completions: list[str]) -> list[list[Any]]:
        """Verdicts of different completions, as JSON keeps them."""
        with ThreadPoolExecutor(max(1, self._report.threads)) as threads:
            verdicts = threads.map(
                lambda text: judge(beginning + text, test, sandboxed=self._sandboxed), completions
            )
            return [[verdict.passed, verdict.how] for verdict in verdicts]

    def describe(self, samples: Sequence[SampleResult]) -> list[SampleResult]:
        """The samples with every different answer of theirs, how often it was given and its
        verdict: JSON, a list of `{"times": 7, "verdict": "passed", "answer": "    return 1"}`; and
        as parsed answer how often each verdict came: `{"passed": 7, ...}`."""
        return [
            dataclasses.replace(
                sample,
                answer=json.dumps(_shown(judged), ensure_ascii=False),
                parsed_answer=json.dumps(Counter(verdict.how for _, verdict in judged)),
            )
            for sample, judged in zip(samples, self._judged, strict=True)
        ]


def _every(responses: Sequence[Sequence[str]], _: Sequence[Row]) -> list[list[str]]:
    return [list(all_of_row) for all_of_row in responses]


def _shown(judged: Sequence[tuple[str, Verdict]]) -> list[dict[str, Any]]:
    times = Counter((verdict.how, text) for text, verdict in judged)
    return [{"times": n, "verdict": how, "answer": text} for (how, text), n in times.items()]


def cut_programs(answer: str, chars: int) -> str:
    """The answer of `CodeJudge.describe` in at most so many characters and still JSON: the longest
    programs lose their ends; the last are left out where that does not do."""
    programs: list[dict[str, Any]] = json.loads(answer)
    length = max((len(one["answer"]) for one in programs), default=0)
    while len(answer) > chars and programs:
        if length == 0:
            programs.pop()
        length = length * 4 // 5
        cut = [{**one, "answer": one["answer"][:length]} for one in programs]
        answer = json.dumps(cut, ensure_ascii=False)
    return answer


def later_slices(task: WireTask, samples: Sequence[SampleResult]) -> list[SliceScore]:
    """pass@10 of a task whose answers are programs, where there are ten of them a problem."""
    repeats = int((task.definition or {}).get("repeats", 1))
    if code_of(task) is None or repeats < LATER:
        return []
    scores = [pass_at_k(repeats, round(sample.score * repeats), LATER) for sample in samples]
    value, error = mean_and_error(scores)
    how = f"pass@{LATER} by the unbiased estimator, of {repeats} programs a problem"
    return [SliceScore(f"pass@{LATER}", value, error, len(samples), how, task.chance)]


def decoding(task: WireTask, sandboxed: bool) -> str:
    """How the programs were drawn and judged, for a measurement's method; empty for other tasks."""
    if code_of(task) is None:
        return ""
    definition = task.definition or {}
    options = definition.get("generation_kwargs") or {}
    drawn = ", ".join(f"{name} {options[name]}" for name in sorted(options) if name != "until")
    where = "in bubblewrap" if sandboxed else "WITHOUT A SANDBOX (--unsafe-code)"
    return f", {definition.get('repeats', 1)} programs a problem ({drawn}), run {where}"
