"""What is kept of a sample: answers, choices, and what of a long input the model never read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import wire_task, words, write_rows
from test_evaluate import CHOICES, evaluate, log_likelihood

from pare_backends.checkpoint import load_dequantized


def choice_task(folder: Path, count: int) -> tuple[Any, list[dict[str, Any]]]:
    rows = [{"question": words(5, i), "choices": CHOICES, "answer": i % 4} for i in range(count)]
    return wire_task("everyday_choice", write_rows(folder / "c.jsonl", rows)), rows


def test_the_log_likelihood_of_every_choice_is_kept(model_dir: Path, tmp_path: Path) -> None:
    task, rows = choice_task(tmp_path, 3)
    _, samples, _ = evaluate(model_dir, [task], {task.task: [0, 1, 2]}, tmp_path)
    for row, sample in zip(rows, samples, strict=True):
        values = [log_likelihood(model_dir, row["question"], " " + text)[0] for text in CHOICES]
        assert sample["choice_log_likelihoods"] == pytest.approx(values, abs=1e-4)
        kept = sample["choice_log_likelihoods"]
        assert kept[row["answer"]] == sample["log_likelihood"]
        assert sample["answer"] == sample["parsed_answer"] == CHOICES[sample["chosen"]]
        assert sample["cut_tokens"] == 0


def test_so_many_characters_of_an_answer_are_kept(model_dir: Path, tmp_path: Path) -> None:
    task, _ = choice_task(tmp_path, 6)
    rows = {task.task: list(range(6))}
    _, whole, _ = evaluate(model_dir, [task], rows, tmp_path)
    _, cut, _ = evaluate(model_dir, [task], rows, tmp_path, answer_chars=2)
    _, none, _ = evaluate(model_dir, [task], rows, tmp_path, answer_chars=0)
    assert [s["answer"] for s in cut] == [s["answer"][:2] for s in whole]
    assert {s["answer"] for s in none} == {None}
    for kept in (whole, cut, none):
        assert [s["answer_length"] for s in kept] == [len(s["answer"]) for s in whole]
        assert [s["score"] for s in kept] == [s["score"] for s in whole]


def test_what_a_long_input_lost_is_counted(model_dir: Path, tmp_path: Path) -> None:
    model, tokenizer = load_dequantized(model_dir)
    limit = model.config.max_position_embeddings
    rows = [{"prompt": words(count, 1), "answer": "fox"} for count in (9, limit, limit + 40)]
    task = wire_task("custom_prompt_answer", write_rows(tmp_path / "d.jsonl", rows))
    _, samples, _ = evaluate(model_dir, [task], {task.task: [0, 1, 2]}, tmp_path)
    lengths = [len(tokenizer.encode(f"{row['prompt']} fox")) for row in rows]
    # The last token is predicted, never read.
    assert [s["cut_tokens"] for s in samples] == [max(0, n - 1 - limit) for n in lengths]
    assert samples[0]["cut_tokens"] == 0 < samples[2]["cut_tokens"]


def test_what_a_long_prompt_of_a_generation_lost_is_counted(
    model_dir: Path, tmp_path: Path
) -> None:
    model, tokenizer = load_dequantized(model_dir)
    limit = model.config.max_position_embeddings
    definition = {
        "output_type": "generate_until",
        "doc_to_text": "{{prompt}}",
        "doc_to_target": "{{answer}}",
        "generation_kwargs": {"max_gen_toks": 16, "until": ["\n\n"], "do_sample": False},
        "metric_list": [{"metric": "exact_match", "higher_is_better": True}],
    }
    rows = [{"prompt": words(count, 1), "answer": "fox"} for count in (9, limit + 40)]
    task = wire_task(
        "custom_prompt_answer",
        write_rows(tmp_path / "d.jsonl", rows),
        definition=definition,
        metric="exact_match,none",
    )
    result, samples, _ = evaluate(model_dir, [task], {task.task: [0, 1]}, tmp_path)
    length = len(tokenizer.encode(rows[1]["prompt"]))
    assert [s["cut_tokens"] for s in samples] == [0, length - (limit - 16)]
    assert all(0 < s["seconds"] < 60 for s in samples), "also of a prompt that was cut"
    parts = result["protocol_parts"][task.task]
    assert json.loads(parts["decoding"])["max_gen_toks"] == 16


def test_a_protocols_parts_say_what_differs(model_dir: Path, tmp_path: Path) -> None:
    task, _ = choice_task(tmp_path, 6)

    def parts(chosen: Any, rows: list[int]) -> tuple[str, dict[str, str]]:
        result, _, _ = evaluate(model_dir, [chosen], {chosen.task: rows}, tmp_path)
        return result["protocol"][chosen.task], result["protocol_parts"][chosen.task]

    def differing(chosen: Any, rows: list[int]) -> set[str]:
        whole, found = parts(chosen, rows)
        assert (whole == base[0]) == (found == base[1])
        return {name for name in found if found[name] != base[1][name]}

    base = parts(task, [0, 1, 2])
    assert differing(task, [0, 1, 2]) == set()
    assert differing(task, [0, 1, 3]) == {"samples", "prompts"}
    assert base[1]["samples"].startswith("3 rows ")
    versioned = wire_task("everyday_choice", tmp_path / "c.jsonl", task_version="9")
    assert differing(versioned, [0, 1, 2]) == {"task_version"}
    asked = {**(task.definition or {}), "doc_to_text": "Q: {{question}}\nA:"}
    asking = wire_task("everyday_choice", tmp_path / "c.jsonl", definition=asked)
    assert differing(asking, [0, 1, 2]) == {"template", "prompts"}
