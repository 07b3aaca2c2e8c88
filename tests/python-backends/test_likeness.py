"""Text in another language than what is evaluated is told, whatever the tokenizer knows."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import Events, wire_task, words, write_rows
from tiny_model import tiny_dir

from pare_backends.calls.prepare_data import PrepareDataRequest, run
from pare_backends.evaluation.likeness import unlike
from pare_backends.models.tiny_text import sentences

ENGLISH = (
    "The committee meets again on Thursday, and whoever wants to speak should say so before then."
    " Nothing that was decided last year will be opened again without a very good reason."
    " A garden that faces north needs plants that bear the shade, and a good deal of patience."
)
RUSSIAN = (
    "Комитет снова собирается в четверг, и тот, кто хочет выступить, должен сказать это"
    " заранее. Ничто из решённого в прошлом году не будет пересмотрено без веской причины."
)
POLISH = (
    "Komisja zbiera się ponownie w czwartek, a każdy, kto chce zabrać głos, powinien zgłosić się"
    " wcześniej. Żadna z zeszłorocznych decyzji nie będzie rozpatrywana bez ważnej przyczyny."
)
CODE = (
    "def total(rows):\n    found = 0\n    for row in rows:\n        found += row\n    return found"
)


@pytest.fixture(scope="module")
def of_bytes() -> Any:
    """A byte-level tokenizer of English: it has tokens for everything, and no unknown one."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False)
    core.train_from_iterator([ENGLISH, CODE, *sentences(200, 1)], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=core)


def said(text: str, evaluated: str, tokenizer: Any) -> str | None:
    return unlike("own.jsonl", [text] * 4, {"asked": [{"text": evaluated}] * 4}, tokenizer)


def test_another_language_is_told_by_its_letters_or_its_tokens(of_bytes: Any) -> None:
    assert of_bytes.unk_token_id is None
    by_letters = said(RUSSIAN, ENGLISH, of_bytes)
    start = "own.jsonl may be in another language than asked, or of another kind: its letters are"
    assert by_letters == f"{start} 100% CYRILLIC, those of asked 100% LATIN"
    assert (said(ENGLISH, RUSSIAN, of_bytes) or "").endswith("LATIN, those of asked 100% CYRILLIC")
    by_tokens = said(POLISH, ENGLISH, of_bytes)
    assert by_tokens is not None and "tokens for 100 bytes of it, and" in by_tokens


def test_the_same_language_and_other_kinds_of_tasks_pass(of_bytes: Any) -> None:
    told = " ".join(sentences(200, 2))
    for text, evaluated in [(told, ENGLISH), (ENGLISH, told), (RUSSIAN, RUSSIAN), (ENGLISH, CODE)]:
        assert said(text, evaluated, of_bytes) is None
    sums = "17 + 4 = 21; 3 * 12 = 36; 100 - 58 = 42"
    assert said(ENGLISH, sums, of_bytes) is None
    assert said(ENGLISH, "", of_bytes) is None


def test_the_study_is_told_and_goes_on(tmp_path: Path) -> None:
    """A tokenizer of words: of this text it knows two words of three."""
    half = " ".join(f"{a} {a} {b}" for a, b in zip(words(300, 5).split(), "abc" * 100, strict=True))
    request = PrepareDataRequest(
        model_dir=str(tiny_dir()),
        tasks=[
            wire_task("custom_text", write_rows(tmp_path / "t.jsonl", [{"text": words(300, 1)}]))
        ],
        calibration_path=str(write_rows(tmp_path / "c.jsonl", [{"text": half}])),
        calibration_windows=2,
        calibration_tokens=64,
        output_dir=str(tmp_path / "out"),
        seed=42,
        sample_seed=42,
        sample_seeds={},
    )
    events = Events()
    found = run(request, events.report)
    told = "c.jsonl may be in another language than custom_text, or of another kind: the tokenizer"
    assert found["calibration_unlike"].startswith(f"{told} does not know 33%")
    alerts = [one for one in events.named("alert") if one["condition"] == "calibration_language"]
    assert [one["evidence"] for one in alerts] == [found["calibration_unlike"]]
    assert len(found["calibration_ids"]) == 2
    path = write_rows(tmp_path / "c2.jsonl", [{"text": words(300, 9)}])
    known = dataclasses.replace(request, calibration_path=str(path))
    assert run(known, Events().report)["calibration_unlike"] is None
