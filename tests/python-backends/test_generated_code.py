"""HumanEval and MBPP through lm-eval: prompts, several programs a problem, pass@k, resuming."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import json
import math
import queue
from pathlib import Path
from typing import Any

import pytest
from benchmark_fixtures import packed
from evaluation_fixtures import Events, benchmark_file, wire_task
from lm_eval.api.instance import Instance

from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.harness import run_harness
from pare_backends.evaluation.outcome import measurements
from pare_backends.evaluation.packed.language_model import PackedLM
from pare_backends.evaluation.scorers.programs_pass import pass_at_k
from pare_backends.evaluation.scoring.programs import cut_programs, runnable, unlisted
from pare_backends.evaluation.served.served_tasks import Refusals
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure
from pare_backends.progress import Report
from pare_backends.sandbox.verdict import sandbox_problem

needs_sandbox = pytest.mark.skipif(sandbox_problem() is not None, reason=str(sandbox_problem()))


def humaneval() -> WireTask:
    return wire_task("humaneval", benchmark_file("humaneval/test.jsonl.gz"))


def mbpp() -> WireTask:
    return wire_task("mbpp", benchmark_file("mbpp/full.jsonl.gz"))


def saying(reader: Any, answers: list[str]) -> PackedLM:
    """pare's evaluator over a model that is made to say these, in order of the requests."""
    model, queue = packed(reader), list(answers)
    model.generate_until = lambda asked, **_: [queue.pop(0) for _ in asked]
    return model


def test_pass_at_k_counts_the_draws_that_hold_a_passing_program() -> None:
    for programs, k in [(1, 1), (4, 2), (6, 3), (10, 1)]:
        for passed in range(programs + 1):
            draws = list(itertools.combinations(range(programs), k))
            hit = sum(any(one < passed for one in draw) for draw in draws) / len(draws)
            assert pass_at_k(programs, passed, k) == pytest.approx(hit, abs=1e-12)
    # The paper's own code: the product of 1 - k / i over the programs that may not be drawn.
    chance = 1 - math.prod(1 - 10 / i for i in range(200 - 3 + 1, 200 + 1))
    assert pass_at_k(200, 3, 10) == pytest.approx(chance, abs=1e-12)
    for wrong in [(10, 11, 1), (10, 5, 11), (10, -1, 1), (10, 5, 0)]:
        with pytest.raises(ValueError):
            pass_at_k(*wrong)


@needs_sandbox
def test_a_share_of_humanevals_programs_passes(reader: Any) -> None:
    task, chosen = humaneval(), [0, 2, 53]
    documents = load_documents(task)
    assert len(documents.rows) == 164
    right = [documents.rows[row]["canonical_solution"] for row in chosen]
    wrong = "    return None\n"
    answers = [right[0]] * 10 + [right[1]] * 3 + [wrong] * 7 + [wrong, "    return (\n"] * 5
    outcome = run_harness(task, documents, chosen, saying(reader, answers))
    assert [sample.score for sample in outcome.samples] == [1.0, 0.3, 0.0]
    assert outcome.value == pytest.approx(1.3 / 3)
    assert json.loads(outcome.samples[1].answer or "") == [
        {"times": 3, "verdict": "passed", "answer": right[1]},
        {"times": 7, "verdict": "an assertion of the test is not met", "answer": wrong},
    ]
    assert json.loads(outcome.samples[2].parsed_answer or "") == {
        "an assertion of the test is not met": 5,
        "the program cannot be loaded": 5,
    }
    whole, later = measurements(outcome, "full", "cpu")
    assert (later["slice"], later["n"]) == ("pass@10", 3)
    assert later["value"] == pytest.approx((1 + 1 + 0) / 3)
    assert (
        "10 programs a problem (do_sample True, max_gen_toks 512, temperature 0.2, top_k 0, "
        in (whole["method"])
    )
    assert whole["method"].endswith("run in bubblewrap")


@needs_sandbox
def test_mbpps_programs_are_judged_by_its_asserts(reader: Any) -> None:
    task = mbpp()
    documents = load_documents(task)
    assert [documents.rows[0]["task_id"], documents.rows[-1]["task_id"]] == [11, 510]
    assert len(documents.rows) == 500
    assert [row["task_id"] for row in documents.examples] == [2, 3, 4]
    code = documents.rows[0]["code"]
    answers = [code] * 5 + ["import os\nos.fork()\n" + code] * 5
    outcome = run_harness(task, documents, [0], saying(reader, answers))
    assert outcome.samples[0].score == 0.5


def own_examples() -> list[dict[str, Any]]:
    """lm-eval's examples of MBPP, read from its source: importing it would ask the hub."""
    import lm_eval.tasks

    path = Path(lm_eval.tasks.__file__).parent / "mbpp" / "utils.py"
    for one in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(one, ast.FunctionDef) and one.name == "list_fewshot_samples":
            returned = one.body[-1]
            assert isinstance(returned, ast.Return) and returned.value is not None
            return list(ast.literal_eval(returned.value))
    raise AssertionError("lm-eval has no examples of MBPP")


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_the_definition_is_that_of_lm_eval(name: str) -> None:
    import lm_eval.tasks
    import yaml

    class Loader(yaml.SafeLoader):
        """Functions as their names."""

    Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))
    path = Path(lm_eval.tasks.__file__).parent / name / f"{name}.yaml"
    theirs = yaml.load(path.read_text(encoding="utf-8"), Loader)
    task = wire_task(name)
    ours = task.definition or {}
    same = ["dataset_path", "dataset_name", "test_split", "output_type", "doc_to_text"]
    assert [ours.get(key) for key in same] == [theirs.get(key) for key in same]
    assert ours.get("target_delimiter") == theirs.get("target_delimiter")
    assert ours["generation_kwargs"]["until"] == theirs["generation_kwargs"]["until"]
    assert task.few_shot == theirs["num_fewshot"]
    if name == "mbpp":
        assert "{{code}}\n[DONE]" in theirs["doc_to_target"]
        assert ours["doc_to_target"] == "{{code}}\n[DONE]"


def test_mbpp_is_asked_with_the_examples_of_lm_eval(reader: Any) -> None:
    task = mbpp()
    documents = load_documents(task)
    fields = ("text", "code", "test_list")
    assert [[row[field] for field in fields] for row in documents.examples] == [
        [row[field] for field in fields] for row in own_examples()
    ]
    seen: list[str] = []
    model = packed(reader)

    def hear(asked: Any, **_: Any) -> list[str]:
        seen.extend(one.args[0] for one in asked)
        return [""] * len(asked)

    model.generate_until = hear
    run_harness(task, documents, [0], model)
    assert len(seen) == 10 and len(set(seen)) == 1
    parts = seen[0].split("[DONE]\n\n")
    assert [part.count("[BEGIN]") for part in parts] == [1, 1, 1, 1]
    assert parts[3].endswith(f"{documents.rows[0]['test_list'][2]}\n[BEGIN]\n")


def short(task: WireTask, seed: int = 42) -> WireTask:
    """Programs of twelve tokens at a temperature that makes them differ."""
    definition = dict(task.definition or {})
    options = {**definition["generation_kwargs"], "max_gen_toks": 12, "temperature": 1.0}
    return dataclasses.replace(
        task, definition={**definition, "generation_kwargs": {**options, "seed": seed}}
    )


def drawn(reader: Any, task: WireTask, rows: list[int], path: Path | None = None) -> Any:
    """As the worker draws them: its report holds a lock, so that it cannot be copied."""
    model = PackedLM(*reader, 4, Report(queue.Queue().put), Answers(path))
    return run_harness(task, load_documents(task), rows, model)


def untimed(samples: list[Any]) -> list[Any]:
    assert all(sample.seconds > 0 for sample in samples)
    return [dataclasses.replace(sample, seconds=None) for sample in samples]


@needs_sandbox
def test_what_is_drawn_depends_on_the_seed_and_the_prompt_alone(
    reader: Any, tmp_path: Path
) -> None:
    task = short(humaneval())
    first = drawn(reader, task, [3, 5], tmp_path / "answers.jsonl")
    answers = json.loads(first.samples[0].answer)
    assert sum(one["times"] for one in answers) == 10 and len(answers) > 5
    alone = drawn(reader, task, [5])
    assert untimed(alone.samples) == untimed(first.samples[1:])
    again = drawn(reader, task, [3, 5, 7], tmp_path / "answers.jsonl")
    assert again.samples[:2] == first.samples
    assert (again.asked, again.reused) == (30, 20)
    other = drawn(reader, short(humaneval(), 43), [3])
    assert other.samples[0].answer != first.samples[0].answer
    assert other.protocol != alone.protocol


def programs(reader: Any, task: WireTask, row: int, count: int, path: Path | None = None) -> Any:
    """The first programs of a problem, and how many answers are new."""
    model = PackedLM(*reader, 4, Events().report, Answers(path))
    definition = task.definition or {}
    prompt = load_documents(task).rows[row]["prompt"]
    asked = [
        Instance("generate_until", {}, (prompt, dict(definition["generation_kwargs"])), 0)
    ] * count
    return model.generate_until(asked), model.asked - model.answers.reused


def test_the_first_ten_programs_are_the_same_whatever_is_drawn_after(
    reader: Any, tmp_path: Path
) -> None:
    task, path = short(humaneval()), tmp_path / "answers.jsonl"
    twenty, new = programs(reader, task, 3, 20, path)
    assert new == 20 and len(set(twenty)) > 10
    assert programs(reader, task, 3, 10) == (twenty[:10], 10)
    assert programs(reader, task, 3, 13, path) == (programs(reader, task, 3, 13)[0], 3)


def test_a_model_that_packs_nothing_draws_as_transformers_does(reader: Any) -> None:
    task = short(humaneval())
    definition = dict(task.definition or {})
    odd = {**definition["generation_kwargs"], "typical_p": 0.9}  # packed rows do not know it
    task = dataclasses.replace(task, definition={**definition, "generation_kwargs": odd})
    first, _ = programs(reader, task, 3, 10)
    assert len(set(first)) > 5
    assert programs(reader, task, 3, 10)[0] == first


@needs_sandbox
def test_a_killed_run_goes_on_where_it_stopped(reader: Any, tmp_path: Path) -> None:
    task, path = short(humaneval()), tmp_path / "answers.jsonl"
    whole = drawn(reader, task, [3, 5], path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:20])  # killed while it wrote the third
    rest = drawn(reader, task, [3, 5], path)
    assert untimed(rest.samples) == untimed(whole.samples)
    assert (rest.asked, rest.reused) == (20, 10)  # the ten of the second problem are drawn anew


@pytest.mark.parametrize("chars", [10_000, 100, 2, 0])
def test_stored_programs_are_json_and_each_is_cut(chars: int) -> None:
    programs = [
        {"times": n, "verdict": "passed", "answer": '    return "é"\n' * n * 9} for n in range(5)
    ]
    whole = json.dumps(programs, ensure_ascii=False)
    kept = json.loads(cut_programs(whole, chars))
    assert kept == [{**one, "answer": str(one["answer"])[:chars]} for one in programs]
    assert unlisted(whole) == [
        str(one["answer"]) for n, one in enumerate(programs) for _ in range(n)
    ]


def test_a_task_of_programs_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    events, refusals = Events(), Refusals()
    both = [wire_task("mbpp"), wire_task("gsm8k")]
    monkeypatch.setenv("PATH", "/nowhere")
    sandbox_problem.cache_clear()
    try:
        assert runnable(both, False, events.report, refusals) == both[1:]
        assert events.all == []
        [row] = refusals.rows
        assert (row["task"], row["kind"]) == ("mbpp", "missing_environment")
        assert "bubblewrap is not installed: install it with" in str(row["message"])
        with pytest.raises(CallFailure, match="bubblewrap is not installed"):
            runnable(both[:1], False, events.report, Refusals())
        assert runnable(both, True, events.report, Refusals()) == both
        assert events.named("alert")[0]["condition"] == "unsafe_code"
    finally:
        sandbox_problem.cache_clear()


@needs_sandbox
def test_a_verdict_without_a_sandbox_is_none_in_one(reader: Any, tmp_path: Path) -> None:
    """A program that ran bare may have forged its verdict: it is judged again."""
    task, path = humaneval(), tmp_path / "answers.jsonl"
    documents = load_documents(task)
    for sandboxed, kept in ((False, 1), (True, 2), (False, 2), (True, 2)):
        model = PackedLM(*reader, 4, Events().report, Answers(path))
        said = [documents.rows[0]["canonical_solution"]] * 10
        model.generate_until = lambda *_, said=said, **__: said  # type: ignore[misc]
        assert run_harness(task, documents, [0], model, sandboxed=sandboxed).value == 1.0
        assert len(path.read_text().splitlines()) == kept


def test_a_run_without_a_sandbox_says_so(reader: Any) -> None:
    task = humaneval()
    documents = load_documents(task)
    answers = [documents.rows[0]["canonical_solution"]] * 10
    outcome = run_harness(task, documents, [0], saying(reader, answers), sandboxed=False)
    assert outcome.value == 1.0
    assert outcome.how.endswith("run WITHOUT A SANDBOX (--unsafe-code)")
