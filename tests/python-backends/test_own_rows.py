"""Rows of a user's own that are longer than the model reads are refused while data are prepared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import Events, words, write_rows
from test_found_tasks import found, wire
from test_prepare_data import request

from pare_backends.calls.find_tasks import AskedTask, FindTasksRequest
from pare_backends.calls.find_tasks import run as find_tasks
from pare_backends.calls.prepare_data import run
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.failures import CallFailure

CONTEXT = 256  # of the tiny model
WRITTEN = """
task: own_written
dataset_path: json
dataset_kwargs: {data_files: {test: own.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{prompt}}"
doc_to_target: "{{answer}}"
generation_kwargs: {max_gen_toks: 16, until: ["\\n"]}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""


def prompt_of(tokenizer: Any, tokens: int, ending: str = "") -> str:
    """A prompt of so many tokens, what follows it counted."""
    text = words(tokens, 7)
    while len(tokenizer(text + ending, add_special_tokens=False).input_ids) > tokens:
        text = text.rpartition(" ")[0]
    while len(tokenizer(text + ending, add_special_tokens=False).input_ids) < tokens:
        text = text + "."
    return text


def prepared(model_dir: Path, folder: Path, prompts: list[str], **changes: Any) -> Any:
    rows = [{"prompt": words(4, 1), "answer": "den"}] + [
        {"prompt": prompt, "answer": "den"} for prompt in prompts
    ]
    write_rows(folder / "d.jsonl", rows)
    own = {"own_rows": ["custom_prompt_answer"], **changes}
    return run(request(model_dir, folder, **own), Events().report)


def test_a_row_that_just_fits_is_asked_and_one_more_token_is_refused(
    model_dir: Path, tmp_path: Path
) -> None:
    tokenizer = load_tokenizer(model_dir)
    fits = prompt_of(tokenizer, CONTEXT + 1, " den")  # the last token is predicted, never read
    assert prepared(model_dir, tmp_path, [fits])["tasks"][0]["rows"] == 2
    longer = prompt_of(tokenizer, CONTEXT + 2, " den")
    with pytest.raises(CallFailure) as refused:
        prepared(model_dir, tmp_path, [fits, longer, longer])
    assert refused.value.kind == "bad_input"
    assert refused.value.message == (
        "Cannot evaluate custom_prompt_answer on d.jsonl: its row 2 takes 257 tokens with its"
        " answer and the model reads 256, and so 1 of the others"
    )
    assert "leave them out" in str(refused.value.hint)
    begun = prepared(model_dir, tmp_path, [fits, longer], own_rows=[])
    assert begun["tasks"][0]["rows"] == 3, "a study that began with such rows goes on"


def test_a_written_answer_needs_room_and_a_task_file_may_have_its_middle_cut(
    model_dir: Path, tmp_path: Path
) -> None:
    tokenizer = load_tokenizer(model_dir)

    def rows_of(tokens: int, more: str = "") -> Any:
        rows = [{"prompt": prompt_of(tokenizer, tokens), "answer": "den"}]
        write_rows(tmp_path / "own.jsonl", rows)
        (tmp_path / "own.yaml").write_text(WRITTEN + more, encoding="utf-8")
        task = wire(found(str(tmp_path / "own.yaml")))
        asked = request(model_dir, tmp_path, tasks=[task], own_rows=["own_written"])
        return run(asked, Events().report)["tasks"][0]["rows"]

    assert rows_of(CONTEXT - 16) == 1
    with pytest.raises(CallFailure, match="row 0 takes 257 tokens with its answer"):
        rows_of(CONTEXT - 15)
    assert rows_of(CONTEXT + 100, "metadata: {cut: middle}\n") == 1
    (tmp_path / "own.yaml").write_text(WRITTEN + "metadata: {cut: left}\n", encoding="utf-8")
    asked = FindTasksRequest([AskedTask("own", "file", str(tmp_path / "own.yaml"))], False)
    assert 'metadata.cut must be "middle"' in str(find_tasks(asked, Events().report))
