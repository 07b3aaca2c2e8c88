"""A sandbox that is gone when programs are judged: no program is wrong by that, its task is refused
and the others are measured."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import random_checkpoint, wire_task, words, write_rows
from test_evaluate import evaluate

from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure
from pare_backends.sandbox.verdict import CodeTest, Verdict, judge, sandbox_problem

BWRAP = """#!/bin/sh
echo started >> {folder}/starts
if [ "$(wc -l < {folder}/starts)" -gt {starts} ]; then
  echo "bwrap: setting up uid map: Permission denied" >&2
  exit 1
fi
exec {real} "$@"
"""
PROBE = 5
"""Guests that are started until the sandbox is known to work."""
RIGHT = CodeTest("", ("f",), "assert f() == 1")

pytestmark = pytest.mark.skipif(sandbox_problem() is not None, reason=str(sandbox_problem()))


@pytest.fixture
def fading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes the real bubblewrap fail, as a kernel without user namespaces has it, after so many
    starts."""
    real = shutil.which("bwrap")

    def after(starts: int) -> None:
        script = tmp_path / "bwrap"
        script.write_text(BWRAP.format(folder=tmp_path, starts=starts, real=real))
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        sandbox_problem.cache_clear()

    yield after
    sandbox_problem.cache_clear()


def test_a_program_is_not_wrong_where_its_sandbox_does_not_start(fading: Any) -> None:
    fading(PROBE + 3)
    assert sandbox_problem() is None
    assert judge("def f(): return 1", RIGHT) == Verdict(True, "passed")
    for _ in range(2):
        with pytest.raises(CallFailure, match=r"uid map: Permission denied.*allow user") as lost:
            judge("def f(): return 1", RIGHT)
        assert lost.value.kind == "missing_environment"


def test_a_bubblewrap_that_was_removed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge("def f(): return 1", RIGHT).passed
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CallFailure, match=r"as bubblewrap is not installed: install it with"):
        judge("def f(): return 1", RIGHT)


def programs_task(folder: Path) -> WireTask:
    row = {
        "prompt": "def f():\n    return 1\n# ",
        "test": "def check(candidate):\n    assert candidate() == 1\n",
        "entry_point": "f",
        "canonical_solution": "",
    }
    rows = [{**row, "task_id": str(number)} for number in range(2)]
    task = wire_task("humaneval", write_rows(folder / "programs.jsonl", rows))
    definition = dict(task.definition or {})
    options = {**definition["generation_kwargs"], "max_gen_toks": 8, "temperature": 1.0}
    return dataclasses.replace(task, definition={**definition, "generation_kwargs": options})


def test_other_tasks_are_measured_where_the_sandbox_is_lost(fading: Any, tmp_path: Path) -> None:
    rows = [{"prompt": words(5, n), "answer": words(1, n + 9)} for n in range(3)]
    other = wire_task("custom_prompt_answer", write_rows(tmp_path / "d.jsonl", rows))
    programs = programs_task(tmp_path)
    model_dir = random_checkpoint(tmp_path / "model")
    chosen = {programs.task: [0, 1], other.task: [0, 1, 2]}

    result, samples, _ = evaluate(model_dir, [programs, other], chosen, tmp_path)
    assert result["refused"] == []
    assert {row["task"] for row in result["measurements"]} == {programs.task, other.task}

    for starts in (0, PROBE + 6):  # before a model is loaded; among the programs' verdicts
        (tmp_path / "starts").unlink(missing_ok=True)
        fading(starts)
        result, samples, _ = evaluate(model_dir, [programs, other], chosen, tmp_path)
        [refused] = result["refused"]
        assert (refused["task"], refused["kind"]) == (programs.task, "missing_environment")
        assert "setting up uid map: Permission denied" in refused["message"]
        assert {row["task"] for row in result["measurements"]} == {other.task}
        assert {sample["task"] for sample in samples} == {other.task}
