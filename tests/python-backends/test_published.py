"""Published datasets as rows: from folders laid out as their authors hand them out."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import wire_task, write_rows

from pare_backends.evaluation.scorers import criteria_words, typed_answer
from pare_backends.evaluation.scoring.answer import OWN, Answer
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.records import Row
from pare_backends.failures import CallFailure


def rows_of(name: str, folder: Path, **settings: Any) -> list[Row]:
    """The rows of a task with its settings changed."""
    task = wire_task(name)
    definition: dict[str, Any] = dict(task.definition or {})
    metadata = definition["metadata"]
    generator = {**metadata["generator"], "path": str(folder), **settings}
    own = {**definition, "metadata": {**metadata, "generator": generator}}
    return load_documents(dataclasses.replace(task, definition=own)).rows


def bizfin(asked: Any, right: str) -> Row:
    content = asked if isinstance(asked, str) else [{"text": one, "type": "text"} for one in asked]
    answer = {"role": "assistant", "content": [{"text": right, "type": "text"}]}
    return {
        "messages": [{"role": "user", "content": content}],
        "choices": [{"index": 0, "message": answer}],
    }


def test_bizfinbench_is_read_by_kind_and_language(tmp_path: Path) -> None:
    for language in ("en", "cn"):
        (tmp_path / language).mkdir()
        stem = f"event_logic_reasoning_{language}"
        rows = [
            bizfin(["Order 1, 2 and 3."], "2,1,3"),
            bizfin("", "1"),
            bizfin("No answer?", ""),
        ]
        write_rows(tmp_path / language / f"{stem}.jsonl", rows)
    multi = {**bizfin("And now?", "up"), "messages": []}
    multi["messages"] = [
        {"role": role, "content": said}
        for role, said in [
            ("user", "It fell."),
            ("assistant", "So."),
            ("user", "And now?"),
        ]
    ]
    write_rows(tmp_path / "en" / "financial_multi-turn_perception_en.jsonl", [multi])
    chosen = ["event_logic_reasoning"]
    found = rows_of("bizfinbench", tmp_path, task_types=chosen, languages=["en", "cn"])
    assert [(one["kind"], one["rule"]) for one in found] == [
        ("event_logic_reasoning_en", "order"),
        ("event_logic_reasoning_cn", "order"),
    ]
    (turns,) = rows_of("bizfinbench", tmp_path, task_types=["financial_multi_turn_perception"])
    assert turns["question"] == "user: It fell.\n\nassistant: So.\n\nuser: And now?"
    with pytest.raises(CallFailure, match="it has no en/stock_price_predict_en that ends with"):
        rows_of("bizfinbench", tmp_path, task_types=["stock_price_predict"])


def test_prbench_has_the_weights_of_its_classes_and_references_before_a_turn(
    tmp_path: Path,
) -> None:
    def criterion(title: str, kind: str, weight: int) -> Row:
        field = f"{kind.replace(' ', '_')}_weight"
        return {"title": title, "annotations": {"weight_class": kind, field: weight}}

    row = {
        "turns": 2,
        "scratchpad": "reasons",
        "rubric": [
            criterion("Names the rule", "critically important", 9),
            criterion("Invents a law", "slightly detrimental", -2),
            criterion("Says nothing of weight", "important", 0),
        ],
        **{"prompt_0": "May I?", "response_0": "It depends.", "prompt_1": "On what?"},
        **{"reference_texts_0": ["§ 1"], "reference_texts_1": None, "prompt_2": None},
    }
    nothing_asked = {**row, "prompt_0": None, "prompt_1": None, "response_0": ""}
    no_criterion = {**row, "rubric": row["rubric"][1:]}
    write_rows(
        tmp_path / "legal.jsonl", [row, no_criterion, {**nothing_asked, "reference_texts_0": None}]
    )
    (found,) = rows_of("prbench", tmp_path, splits=["legal"])
    assert found["question"] == (
        "user: Reference Text 0:\n§ 1\n\nMay I?\n\nassistant: It depends.\n\nuser: On what?"
    )
    assert found["criteria"] == [
        {"asks": "Names the rule", "weight": 9.0},
        {"asks": "Invents a law", "weight": -2.0},
    ]
    words = criteria_words.Params("criteria")
    both = Answer(("The rule names it; a law it invents.",))
    assert criteria_words.score(both, found, words).values[OWN] == pytest.approx(7 / 9)


def test_gdpval_shows_text_of_its_own_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "reference_files").mkdir()
    (tmp_path / "reference_files" / "figures.csv").write_text("a,b\n1,2\n")
    (tmp_path.parent / "secret.txt").write_text("a secret")
    rubric = [{"rubric_item_id": "x", "criterion": "Sums b", "score": 3, "required": True}]
    row = {
        "prompt": "Sum it.",
        "sector": "Finance, Insurance",
        "rubric_json": json.dumps(rubric),
    }
    files = [
        "reference_files/figures.csv",
        "../secret.txt",
        "reference_files/none.xlsx",
    ]
    write_rows(
        tmp_path / "train.jsonl",
        [{**row, "reference_files": files}, {"prompt": "Write."}],
    )
    shown, plain = rows_of("gdpval", tmp_path, include_reference_files=True)
    assert "figures.csv:\na,b\n1,2" in shown["question"] and "a secret" not in shown["question"]
    assert shown["kind"] == "Finance Insurance"
    assert shown["criteria"] == [{"asks": "Sums b", "weight": 3.0}]
    assert len(plain["criteria"]) == 4 and "Reference files" not in plain["question"]
    (named, _) = rows_of("gdpval", tmp_path)
    assert "a,b" not in named["question"] and "none.xlsx" in named["question"]


@pytest.mark.parametrize(
    ("rule", "right", "said", "is_right"),
    [
        ("number", "41.5977", 'So it is 0.4\n{"answer": 41.6}', True),
        ("number", "41.5977", '{"answer": "43.1"}', False),
        ("number", "0.0562", '{"reason": "by 3", "answer": "5.62%"', True),
        (
            "number",
            "Lack of relevant data",
            '{"answer": "lack of relevant data."}',
            True,
        ),
        ("order", "2,1,3", '{"排序结果": [2, 1, 3]}', True),
        ("order", '{"answer": "2,1,3"}', "2, 1, 3, 4", False),
        ("label", "Positive", "The sentiment is positive", True),
        ("label", "Positive", "Not positive at all", False),
        ("label", "Positive", "It is not positive", False),
        ("label", "Positive", "It isn't positive", False),
        ("text", "A-share, rise", '{"answer": "a share rise"}', True),
        ("text", "A-share, rise", "", False),
    ],
)
def test_an_answer_is_held_against_the_right_one_by_its_rule(
    rule: str, right: str, said: str, is_right: bool
) -> None:
    row = {"answer": right, "rule": rule}
    found = typed_answer.score(Answer((said,)), row, typed_answer.Params("answer", "rule"))
    assert found.values[OWN] == float(is_right)
