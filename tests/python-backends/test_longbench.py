"""LongBench by its official protocol: scores, prompts, what a long prompt loses, chat template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmark_fixtures import CONTEXT, packed, saying, short
from evaluation_fixtures import benchmark_file, wire_task, wire_tasks, write_rows

from pare_backends.evaluation.chat_template import use_chat_template
from pare_backends.evaluation.harness import run_harness
from pare_backends.evaluation.prompts import shortener
from pare_backends.evaluation.scorers.longbench_measure import Params, score
from pare_backends.evaluation.scoring.answer import OWN, Answer
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.lm_groups import group_measurements
from pare_backends.failures import CallFailure

FIXTURE = Path(__file__).parent.parent / "fixtures" / "longbench_scores.jsonl"
TEMPLATE = "{% for m in messages %}<s>user {{ m['content'] }} {% endfor %}<s>answer"


def made(name: str, **changes: Any) -> dict[str, Any]:
    row = {"input": "Where?", "context": "At the old mill.", "answers": ["mill"], "length": 10}
    return {**row, "dataset": name, "all_classes": None, **changes}


def test_scores_are_those_of_the_official_scorer() -> None:
    head, *rows = [json.loads(line) for line in FIXTURE.read_text("utf-8").splitlines()]
    compared, wrong = 0, []
    for row in rows:
        params = Params(row["measure"], "answers", "all_classes", row["first_line"])
        asked = {"answers": row["answers"], "all_classes": head["classes"]}
        for said, official in zip(head["said"], row["scores"], strict=True):
            own = score(Answer(texts=(said,)), asked, params).values[OWN]
            compared += 1
            if own != official:
                wrong.append((row["measure"], said, row["answers"], own, official))
    assert wrong == []
    assert compared > 1500


def test_prompts_and_lengths_are_the_benchmarks_own() -> None:
    prompts = json.loads(benchmark_file("longbench/dataset2prompt.json").read_text("utf-8"))
    tokens = json.loads(benchmark_file("longbench/dataset2maxlen.json").read_text("utf-8"))
    from lm_eval.utils import apply_template

    row = made("x", input="a {b} {{c}}\n", context="\n {input} é\n\n")
    tasks = [one for name, one in wire_tasks().items() if name.startswith("longbench_")]
    assert len(tasks) == 29
    for task in tasks:
        definition = task.definition or {}
        name = definition["dataset_name"].removesuffix("_e")
        official = prompts[name].format(**row)
        assert apply_template(definition["doc_to_text"], row) == official, name
        assert definition["generation_kwargs"]["max_gen_toks"] == tokens[name]


@pytest.mark.parametrize("templated", [False, True])
def test_a_long_prompt_loses_its_middle(reader: Any, tmp_path: Path, templated: bool) -> None:
    words = " ".join(f"word{number}" for number in range(6000))
    rows = [made("qasper"), made("qasper", context=words)]
    task = wire_task("longbench_qasper", write_rows(tmp_path / "rows.jsonl", rows))
    model, tokenizer = packed(reader), reader[1]
    if templated:
        tokenizer.chat_template = TEMPLATE
        use_chat_template(model, tokenizer)
    whole = f"You are given a story: {words} Answer:"
    cut = shortener(task, model)
    assert cut is not None
    assert cut("short") == "short"
    text = cut(whole)
    tokens = tokenizer(whole).input_ids
    most = CONTEXT - 128
    if not templated:  # as the official runner cuts
        half = most // 2
        assert text == tokenizer.decode(tokens[:half]) + tokenizer.decode(tokens[-half:])
    sent = model.apply_chat_template([{"role": "user", "content": text}]) if templated else text
    assert most - 4 <= len(model.tok_encode(sent)) <= most
    asked = short(task, 128)
    seen: list[str] = []
    model.generate_until = lambda some, **_: seen.extend(one.args[0] for one in some) or ["", ""]
    try:
        outcome = run_harness(asked, load_documents(task), [0, 1], model)
    finally:
        tokenizer.chat_template = None
    lost = [sample.cut_tokens for sample in outcome.samples]
    assert lost[0] == 0
    assert (lost[1] or 0) > 10_000
    assert all(one.startswith("<s>user You are given" if templated else "You are") for one in seen)
    assert "Question: Where?" in seen[1]


def test_worked_examples_stand_in_no_chat_template(reader: Any, tmp_path: Path) -> None:
    model, tokenizer = packed(reader), reader[1]
    tokenizer.chat_template = TEMPLATE
    try:
        use_chat_template(model, tokenizer)
        protocols = {}
        for name in ("trec", "qasper"):
            rows = [made(name, all_classes=["mill", "pond"])]
            path = write_rows(tmp_path / f"{name}.jsonl", rows)
            seen: list[str] = []
            model.generate_until = lambda some, seen=seen, **_: (
                seen.extend(one.args[0] for one in some) or ["mill\npond"]
            )
            task = wire_task(f"longbench_{name}", path)
            outcome = run_harness(task, load_documents(task), [0], model)
            protocols[name] = outcome.protocol_parts.get("prompting")
            assert seen[0].startswith("<s>") == (name == "qasper")
    finally:
        tokenizer.chat_template = None
    assert protocols["trec"] is None
    assert str(protocols["qasper"]).startswith("chat template")


def test_one_line_is_never_empty(reader: Any, tmp_path: Path) -> None:
    model = packed(reader)
    rows = [made("samsum")]
    task = wire_task("longbench_samsum", write_rows(tmp_path / "rows.jsonl", rows))
    assert (task.definition or {})["generation_kwargs"]["min_new_tokens"] == 1
    documents = load_documents(task)
    # The text of the first token: where a line ended with it, the answer would be empty.
    first = run_harness(short(task, 1), documents, [0], model).samples[0].answer or ""
    assert len(reader[1].encode(first, add_special_tokens=False)) == 1
    definition = dict(task.definition or {})

    def answer(**more: int) -> str:
        kwargs = {"do_sample": False, "max_gen_toks": 4, "until": [first], **more}
        asked = wire_task(
            "longbench_samsum", definition={**definition, "generation_kwargs": kwargs}
        )
        return run_harness(asked, documents, [0], packed(reader)).samples[0].answer or ""

    assert answer() == ""
    assert answer(min_new_tokens=1) != ""


def test_lengths_are_slices_and_categories_are_groups(reader: Any, tmp_path: Path) -> None:
    lengths = [3999, 4000, 7999, 8000, 20_000]
    rows = [made("gov_report", length=one, context=f"mill {one}") for one in lengths]
    task = wire_task("longbench_gov_report", write_rows(tmp_path / "rows.jsonl", rows))
    said = ["mill", "mill", "no", "no", "mill"]
    outcome = run_harness(task, load_documents(task), range(5), saying(reader, said))
    found = {one.slice: (one.n, round(one.value, 6)) for one in outcome.slices}
    assert found["0-4k"] == (1, 1.0)
    assert found["4-8k"] == (2, 0.5)
    assert found["8k+"] == (2, 0.5)
    assert group_measurements([outcome], "full", "cpu") == []  # of one of 16 tasks none is told


def test_guessing_a_class_is_one_in_fifty(reader: Any, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [made("trec", all_classes=["mill"])])
    task = wire_task("longbench_trec", path)
    outcome = run_harness(task, load_documents(task), [0], saying(reader, ["mill"]))
    assert (outcome.value, outcome.chance) == (1.0, 0.02)


def test_another_tasks_rows_are_refused(tmp_path: Path) -> None:
    rows = [made("qasper"), made("hotpotqa")]
    task = wire_task("longbench_qasper", write_rows(tmp_path / "rows.jsonl", rows))
    with pytest.raises(CallFailure, match="its row 1 is one of 'hotpotqa', not of qasper"):
        load_documents(task)


@pytest.mark.parametrize("name", ["multi_news", "narrativeqa"])
def test_real_records_are_read(name: str) -> None:
    task = wire_task(f"longbench_{name}", benchmark_file(f"longbench/{name}.jsonl.gz"))
    documents = load_documents(task)
    groups = task.groups
    assert groups is not None
    assert {groups.of(row) for row in documents.rows} <= {"0-4k", "4-8k", "8k+"}
    params = Params("rouge_l" if name == "multi_news" else "f1", "answers", "all_classes", False)
    for row in documents.rows:
        assert score(Answer(texts=(row["answers"][0],)), row, params).values[OWN] > 0.999
