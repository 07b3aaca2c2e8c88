"""generation_config.json is honoured as lm-eval's own model class has it, or named as left out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from evaluation_fixtures import random_checkpoint
from lm_eval.models.huggingface import HFLM
from test_generation import asked, language_model

from pare_backends.checkpoint import read, write
from pare_backends.checkpoint.generation_settings import generation_settings, settings_notes
from pare_backends.failures import CallFailure
from pare_backends.runtimes.runtime_model import Output, RuntimeModel

FILE = "generation_config.json"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_checkpoint(tmp_path_factory.mktemp("plain"))


def saying(plain: Path, out: Path, **said: Any) -> Path:
    """The model with these fields in its generation_config.json."""
    shutil.copytree(plain, out)
    (out / FILE).write_text(json.dumps(said))
    return out


def by_lm_eval(directory: Path) -> list[str]:
    """What lm-eval makes of the model that transformers loads, one prompt at a time."""
    model = HFLM(pretrained=str(directory), dtype="float32", batch_size=1, device="cpu")
    return [str(text) for text in model.generate_until(asked(["<never>"]), disable_tqdm=True)]


def usual_token(directory: Path) -> int:
    """One that stands in the middle of generations."""
    model = language_model(directory)
    texts = model.generate_until(asked(["<never>"]))
    return int(model.tok_encode(texts[0].split()[4])[0])


def test_every_end_that_the_file_names_ends_a_generation(plain: Path, tmp_path: Path) -> None:
    end = usual_token(plain)
    ends = [json.loads((plain / "config.json").read_text())["eos_token_id"], end]
    directory = saying(plain, tmp_path / "m", eos_token_id=ends)
    model = language_model(directory)
    found = model.generate_until(asked(["<never>"]))
    assert model._generates_packed, "ends alone keep nobody from packed rows"
    assert found == by_lm_eval(directory)
    assert found != by_lm_eval(plain)


def test_an_artifact_ends_where_its_source_does(plain: Path, tmp_path: Path) -> None:
    directory = saying(plain, tmp_path / "m", eos_token_id=[1, 7])
    write(read(directory), tmp_path / "out")
    assert generation_settings(tmp_path / "out").eos_token_id == [1, 7]


@pytest.mark.parametrize(
    "said", [{"repetition_penalty": 1.7}, {"no_repeat_ngram_size": 2}, {"num_beams": 3}]
)
def test_what_changes_a_search_is_honoured(
    plain: Path, tmp_path: Path, said: dict[str, Any]
) -> None:
    directory = saying(plain, tmp_path / "m", eos_token_id=2, **said)
    found = language_model(directory, 1).generate_until(asked(["<never>"]))
    assert found == by_lm_eval(directory) != by_lm_eval(plain)
    assert settings_notes(directory) == []


def test_what_a_task_decides_is_named_and_left_out(plain: Path, tmp_path: Path) -> None:
    said = {
        "eos_token_id": 2, "max_new_tokens": 3, "num_return_sequences": 2, "do_sample": True,
        "cache_implementation": "static", "repetition_penalty": 1.0, "made_up": 4,
    }  # fmt: skip
    directory = saying(plain, tmp_path / "m", **said)
    first, second = settings_notes(directory)
    assert "max_new_tokens: 3, num_return_sequences: 2, which is left out" in first
    assert "made_up: 4, which transformers does not know" in second
    model = language_model(directory)
    assert model.generate_until(asked(["<never>"])) == by_lm_eval(plain)
    assert model._generates_packed


def test_ends_that_two_files_name_otherwise_are_told(plain: Path, tmp_path: Path) -> None:
    own = json.loads((plain / "config.json").read_text())["eos_token_id"]
    note = settings_notes(saying(plain, tmp_path / "m", eos_token_id=own + 1))[0]
    assert f"ends texts at [{own}], {FILE} at [{own + 1}]: the second decides" in note
    assert settings_notes(saying(plain, tmp_path / "more", eos_token_id=[own, own + 1])) == []
    (tmp_path / "m" / FILE).unlink()
    assert generation_settings(tmp_path / "m").eos_token_id == own


def test_a_file_that_cannot_be_read_is_named(plain: Path, tmp_path: Path) -> None:
    directory = saying(plain, tmp_path / "m")
    for text in ("{", "[]", "[" * 100_000):
        (directory / FILE).write_text(text)
        with pytest.raises(CallFailure, match=FILE):
            generation_settings(directory)


def test_ends_that_are_no_tokens_are_refused(plain: Path, tmp_path: Path) -> None:
    directory = saying(plain, tmp_path / "m")
    for ends in ('{"2": 3}', '[{"2": 3}]', '["</s>", 2]', "2.5", "true"):
        (directory / FILE).write_text(f'{{"eos_token_id": {ends}}}')
        with pytest.raises(CallFailure, match=rf"{FILE}: its eos_token_id is neither") as failed:
            settings_notes(directory)
        assert ends in failed.value.message
    (directory / FILE).write_text('{"eos_token_id": 2}')
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | {"eos_token_id": [{}, "a"]}))
    assert settings_notes(directory) == [], "what decides names tokens"


class Counting(RuntimeModel):
    """A runtime whose likeliest token is always 5, the next 6."""

    def forward(self, input_ids: torch.Tensor) -> Output:
        raise NotImplementedError

    def _forget(self) -> None:
        pass

    def _append(self, tokens: Any, mask: Any, places: Any) -> Any:
        import numpy as np

        scores = np.zeros((1, 9), np.float32)
        scores[0, 5], scores[0, 6] = 1.5, 1.0
        return scores


def test_a_runtime_ends_and_punishes_as_the_model_says(plain: Path, tmp_path: Path) -> None:
    def made(**said: Any) -> list[int]:
        directory = saying(plain, tmp_path / str(len(list(tmp_path.iterdir()))), **said)
        model, ids = Counting("counting", str(directory), {}), torch.tensor([[3, 4]])
        ended = lambda ids, scores: torch.zeros(1)  # noqa: E731
        options = {"stopping_criteria": ended, "pad_token_id": 0, "logits_processor": []}
        return list(model.generate(ids, torch.ones_like(ids), 6, **options)[0, 2:].tolist())

    assert made(eos_token_id=1) == [5, 5, 5, 5]
    assert made(eos_token_id=[1, 5]) == [5]
    assert made(eos_token_id=1, repetition_penalty=2.0)[:2] == [5, 6]
    with pytest.raises(CallFailure, match="no_repeat_ngram_size: 2"):
        made(eos_token_id=1, no_repeat_ngram_size=2)
