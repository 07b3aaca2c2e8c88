"""Models, tokenizers and data that a task cannot be measured with: one sentence each, and no guess
in its place."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import Events, wire_task, words, write_rows
from lm_eval.api.instance import Instance

from pare_backends.calls.prepare_data import PrepareDataRequest, run
from pare_backends.checkpoint import load_dequantized
from pare_backends.evaluation.harness import run_harness
from pare_backends.evaluation.packed.language_model import PackedLM
from pare_backends.evaluation.packed.packing import group_requests
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure


def evaluator(model_dir: Path, **markers: None) -> PackedLM:
    """pare's evaluator, with these of the tokenizer's markers taken away."""
    model, tokenizer = load_dequantized(model_dir)
    for name in markers:
        setattr(tokenizer, name, None)
    return PackedLM(model, tokenizer, 4, Events().report)


def answered(tmp_path: Path, rows: list[dict[str, Any]]) -> WireTask:
    return wire_task("custom_prompt_answer", write_rows(tmp_path / "d.jsonl", rows))


def prepare(model_dir: Path, task: WireTask, out: Path) -> dict[str, Any]:
    request = PrepareDataRequest(str(model_dir), [task], None, 2, 32, str(out), 1, 1, {})
    return run(request, Events().report)


ROWS = [{"prompt": words(6, n), "answer": words(2, n + 9)} for n in range(3)]
GENERATION = [Instance("generate_until", {}, (words(4), {"until": ["?"], "max_gen_toks": 3}), 0)]


def test_a_tokenizer_without_markers_is_refused(model_dir: Path) -> None:
    with pytest.raises(CallFailure, match="names neither a beginning nor an end of text") as told:
        evaluator(model_dir, bos_token=None, eos_token=None)
    assert told.value.kind == "bad_input"
    assert "tokenizer_config.json" in (told.value.hint or "")


def test_a_tokenizer_without_an_end_scores_and_does_not_generate(
    model_dir: Path, tmp_path: Path
) -> None:
    task = answered(tmp_path, ROWS)
    documents = load_documents(task)
    whole = run_harness(task, documents, [0, 1, 2], evaluator(model_dir))
    without = evaluator(model_dir, eos_token=None, pad_token=None)
    part = run_harness(task, documents, [0, 1, 2], without)
    assert [s.log_likelihood for s in part.samples] == [s.log_likelihood for s in whole.samples]
    without.label = "gsm8k"
    with pytest.raises(CallFailure, match=r"Cannot generate for gsm8k: .* names no end of text"):
        without.generate_until(GENERATION)


def test_a_tokenizer_without_padding_generates_the_same(model_dir: Path) -> None:
    asked = [
        Instance("generate_until", {}, (words(3 + n, n), {"until": ["?"], "max_gen_toks": 6}), n)
        for n in range(3)
    ]
    usual = evaluator(model_dir).generate_until(asked)
    assert evaluator(model_dir, pad_token=None).generate_until(asked) == usual


def test_an_answer_that_the_model_cannot_read_is_refused(model_dir: Path, tmp_path: Path) -> None:
    rows = [*ROWS, {"prompt": words(3), "answer": words(300)}]
    task = answered(tmp_path, rows)
    with pytest.raises(CallFailure, match=r"Cannot score an answer of 300 tokens: .* reads 256"):
        run_harness(task, load_documents(task), [0, 3], evaluator(model_dir))
    with pytest.raises(CallFailure, match=r"^Cannot score answer 2 of 2 as it has no token"):
        group_requests([([3], [4]), ([3], [])], 256)


def test_a_task_without_room_is_refused_before_a_study(model_dir: Path, tmp_path: Path) -> None:
    generated = dataclasses.replace(
        answered(tmp_path, ROWS),
        task="essays",
        definition={
            "output_type": "generate_until",
            "doc_to_text": "{{prompt}}",
            "doc_to_target": "{{answer}}",
            "generation_kwargs": {"max_gen_toks": 256},
        },
    )
    with pytest.raises(CallFailure, match=r"Cannot generate 256 tokens for essays: .* 256 in all"):
        prepare(model_dir, generated, tmp_path / "a")
    texts = write_rows(tmp_path / "t.jsonl", [{"text": words(900)}])
    wide = wire_task("custom_text", texts, window_tokens=300)
    with pytest.raises(CallFailure, match="in windows of 300 tokens: the model reads 256"):
        prepare(model_dir, wide, tmp_path / "b")
    fits = dataclasses.replace(wide, window_tokens=256)
    assert prepare(model_dir, fits, tmp_path / "c")["tasks"][0]["rows"] == 3
