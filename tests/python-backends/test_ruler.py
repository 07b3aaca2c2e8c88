"""RULER's own samples: equal to the harness's where that needs no data, of any length, by depth."""

from __future__ import annotations

import hashlib
import json
import random
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from benchmark_fixtures import packed
from evaluation_fixtures import wire_task

from pare_backends.evaluation.harness import run_harness
from pare_backends.evaluation.ruler import tracking
from pare_backends.evaluation.ruler.make import ruler_rows
from pare_backends.evaluation.ruler.material import word_pairs
from pare_backends.evaluation.scorers.choice_rank import Params as RankParams
from pare_backends.evaluation.scorers.choice_rank import score as rank
from pare_backends.evaluation.scorers.string_match import Params, score
from pare_backends.evaluation.scoring.answer import OWN, Answer
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.made_rows import write_made
from pare_backends.evaluation.tasks.records import Row
from pare_backends.failures import CallFailure

FIXTURE = Path(__file__).parent.parent / "fixtures" / "ruler_rows.jsonl"
HEAD, *ORACLE = [json.loads(line) for line in FIXTURE.read_text("utf-8").splitlines()]


def by_pattern(text: str) -> Any:
    """A tokenizer of words and signs."""
    return SimpleNamespace(input_ids=re.findall(HEAD["pattern"], text))


def made(
    task: str,
    lengths: list[int],
    count: int = 6,
    seed: int = 11,
    context: int | None = None,
    source: Path | None = None,
    **said: Any,
) -> list[Row]:
    asked = {"task": task, "lengths": lengths, "count": count, "seed": seed, **said}
    return ruler_rows(f"ruler_{task}", asked, by_pattern, context, source)


def question_file(task: str, folder: Path) -> Path | None:
    """Questions of our own in the layout of SQuAD and of HotpotQA."""
    drawing = random.Random(3)
    words = "fox owl den mill river stone green slow bright under over lake hill bell door wheat"

    def text(count: int) -> str:
        chosen = " ".join(drawing.choice(words.split()) for _ in range(count))
        return chosen.capitalize() + "."

    def asked(kind: int, place: int) -> dict[str, Any]:
        gone = kind % 4 == 0
        question = {"question": text(6), "id": f"{place}", "is_impossible": gone}
        answers = [] if gone else [{"text": text(2)}, {"text": text(1)}]
        return {**question, "answers": answers}

    squad = [
        {
            "title": f"t{i}",
            "paragraphs": [
                {
                    "context": f"{i} {j} {text(drawing.randint(20, 70))}",
                    "qas": [asked(i + j + k, k) for k in range(2)],
                }
                for j in range(8)
            ],
        }
        for i in range(12)
    ]
    hotpot = [
        {
            "question": text(8),
            "answer": text(2),
            "context": [[f"T{i} {j}", [text(12), f" {text(10)}"]] for j in range(4)],
        }
        for i in range(40)
    ]
    data: Any = {"qa_1": {"data": squad}, "qa_2": hotpot}.get(task)
    if data is None:
        return None
    path = folder / f"{task}.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def hashed(row: Row) -> str:
    shown = [row["input"].strip(), row["gen_prefix"], row["outputs"], row.get("input_example")]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode()).hexdigest()[:16]


@pytest.mark.parametrize("oracle", ORACLE, ids=lambda one: f"{one['task']}-{one['length']}")
def test_samples_are_the_harnesss_own(
    oracle: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The harness keeps a slip of the pen that RULER has mended.
    monkeypatch.setattr(tracking, "PREFIX", tracking.PREFIX.replace("assigned", "assgined"))
    task, count = oracle["task"], len(oracle["rows"])
    source = question_file(task, tmp_path)
    rows = made(task, [oracle["length"]], count, oracle["seed"], source=source)
    assert [hashed(row) for row in rows] == oracle["rows"]


def test_a_length_gives_the_same_samples_whatever_stands_beside_it() -> None:
    alone = made("niah_single_1", [2048])
    beside = made("niah_single_1", [512, 1024, 2048])
    assert [row for row in beside if row["length"] == 2048] == alone
    assert made("niah_single_1", [2048], count=3) == alone[:3]


def test_lengths_are_filled_and_depths_are_told() -> None:
    for name in ("niah_single_1", "niah_single_2", "niah_multikey_1", "niah_multivalue"):
        rows = made(name, [512, 2048], count=60)
        for row in rows:
            room = row["length"] - 128
            assert row["tokens"] <= room
            assert row["tokens"] > 0.6 * room, name
            assert all(answer in row["input"] for answer in row["outputs"])
            assert 0 <= row["depth"] <= 100
        places = {row["place"] for row in rows if row["length"] == 2048}
        if name.startswith("niah_single"):
            assert places == {f"2048 tokens depth {at}-{at + 20}" for at in range(0, 100, 20)}
    needle = made("niah_single_1", [512], count=1)[0]
    before = needle["input"].index(needle["outputs"][0])
    assert abs(100 * before / len(needle["input"]) - needle["depth"]) < 25


def test_a_users_prose_stands_for_ours(tmp_path: Path) -> None:
    path = tmp_path / "essays.jsonl"
    path.write_text(json.dumps({"text": "A wolf walked home. It was late. " * 90}), "utf-8")
    row = made("niah_single_2", [1024], count=1, source=path)[0]
    assert "A wolf walked home." in row["input"]
    assert "wolf" not in made("niah_single_2", [1024], count=1)[0]["input"]


def test_what_cannot_be_made_is_said_in_a_sentence() -> None:
    with pytest.raises(
        CallFailure, match="Cannot make ruler_vt of 4096 tokens: the model reads 2048"
    ):
        made("vt", [4096], context=2048)
    asked = {"task": "vt", "lengths": [4096, 8192], "count": 1, "seed": 1}
    with pytest.raises(CallFailure) as refused:
        ruler_rows("ruler_vt_4096_8192", asked, by_pattern, 2048, None)
    assert "such as ruler_vt:2048" in str(refused.value.hint)
    assert {row["length"] for row in made("vt", [1024, 4096], context=2048)} == {1024}
    with pytest.raises(CallFailure, match="of 100 tokens: it is made of 512 and more"):
        made("vt", [100])
    for context, said in ((None, "ruler_vt:1024"), (600, "The model reads 600 tokens")):
        with pytest.raises(CallFailure, match="of 512 tokens: not one sample fits") as refused:
            made("vt", [512], context=context)
        assert said in str(refused.value.hint)
    with pytest.raises(CallFailure, match="questions of squad, which are not here"):
        made("qa_1", [1024])
    with pytest.raises(CallFailure, match="as squad's questions"):
        made("qa_1", [1024], source=FIXTURE)


def test_at_the_models_own_length_an_answer_has_room() -> None:
    for name in ("niah_single_1", "fwe"):
        rows = made(name, [1024], context=1024)
        for row in rows:
            whole = f"{row['input']} {row['gen_prefix']}"
            new = 128 if name.startswith("niah") else 50
            assert len(by_pattern(whole).input_ids) + new <= 1024 + 10


def test_pairs_of_words_are_in_order() -> None:
    pairs = word_pairs()
    assert len(pairs) > 6_000_000
    places = random.Random(1).sample(range(len(pairs) - 1), 3000)
    assert all(pairs[place] < pairs[place + 1] for place in places)
    start = next(place for place in range(0, len(pairs), 50) if pairs[place].startswith("old-f"))
    near = [pairs[place] for place in range(start - 9000, start + 9000)]
    assert near == sorted(near)


def test_the_rank_of_a_choice_counts_those_as_likely() -> None:
    row, params = {"answer": 1}, RankParams("answer")
    for likelihoods, value in [((-2, -1, -3), 1), ((-1, -2, -3), 1 / 2), ((-1, -1, -1), 1 / 3)]:
        assert rank(Answer(likelihoods=likelihoods), row, params).values[OWN] == value


@pytest.mark.parametrize(
    ("said", "share", "one"),
    [("47 and 11.", 1.0, 1.0), (" 47\x00", 0.5, 1.0), ("", 0.0, 0.0), ("FOX 11", 0.5, 1.0)],
)
def test_an_answer_counts_by_what_it_holds(said: str, share: float, one: float) -> None:
    row = {"outputs": ["47", "11"]}
    assert score(Answer(texts=(said,)), row, Params("outputs", False)).values[OWN] == share
    assert score(Answer(texts=(said,)), row, Params("outputs", True)).values[OWN] == one


def test_a_task_is_asked_and_scored_by_place(reader: Any, tmp_path: Path) -> None:
    model, tokenizer = reader
    model.config.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    task = wire_task("ruler_niah_single_1")
    definition = json.loads(json.dumps(task.definition))
    definition["metadata"]["generator"].update(lengths=[1024], count=12)
    task = wire_task("ruler_niah_single_1", definition=definition, tokenizer_dir=str(tmp_path))
    documents = load_documents(task)
    name = write_made(task, documents.rows, tmp_path)
    again = wire_task("ruler_niah_single_1", tmp_path / str(name), definition=definition)
    assert load_documents(again).hashes == documents.hashes
    asked: list[str] = []

    def said(prompt: str) -> str:
        asked.append(prompt)
        own = next(row for row in documents.rows if prompt.endswith(row["gen_prefix"]))
        return f" {own['outputs'][0]}." if own["index"] % 2 else "no"

    lm = packed(reader)
    lm.generate_until = lambda some, **_: [said(one.args[0]) for one in some]  # type: ignore[method-assign]
    outcome = run_harness(again, documents, range(12), lm)
    assert outcome.value == 0.5
    assert all(text.endswith("mentioned in the provided text is") for text in asked)
    assert {one.slice for one in outcome.slices} >= {row["place"] for row in documents.rows}


def test_a_needle_is_ranked_among_ten_numbers(reader: Any, tmp_path: Path) -> None:
    model, tokenizer = reader
    model.config.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    task = wire_task("needle_rank")
    definition = json.loads(json.dumps(task.definition))
    definition["metadata"]["generator"].update(lengths=[1024], count=5)
    task = wire_task("needle_rank", definition=definition, tokenizer_dir=str(tmp_path))
    documents = load_documents(task)
    for row in documents.rows:
        assert len(set(row["choices"])) == 10
        assert row["choices"][row["answer"]] == row["outputs"][0]
    outcome = run_harness(task, documents, [0, 1], packed(reader))
    assert outcome.chance == 0.1
    assert all(len(sample.choice_log_likelihoods or ()) == 10 for sample in outcome.samples)
