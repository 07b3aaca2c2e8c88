"""A sweep that is killed: what was answered by then is not asked again, and all say what they say
unbroken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evaluation_fixtures import Events
from lm_eval.api.instance import Instance
from test_cut_evaluation import asked
from test_shared_prompts import every_policy, readings

from pare_backends.cache.policy import policy_of
from pare_backends.checkpoint import load_dequantized
from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.packed.language_model import PackedLM
from pare_backends.evaluation.packed.shared_prompts import Beside

__all__ = ["readings"]

SWEPT = ("snapkv", "h2o", "circuitkv")


class Killed(BaseException):
    """No failure that anything may catch: the process is gone."""


def killed_after(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """Kills whoever keeps an answer after so many, in the midst of writing the next one."""
    own, left = Answers.keep, [kept]

    def keep(answers: Answers, *said: Any) -> None:
        own(answers, *said)
        left[0] -= 1
        if left[0] < 0:
            path = answers._path
            assert path is not None
            path.write_bytes(path.read_bytes()[:-20])
            raise Killed

    monkeypatch.setattr(Answers, "keep", keep)


def test_killed_at_any_answer_settings_go_on_and_say_what_they_say_unbroken(
    model_dir: Path, tmp_path: Path, readings: list[int]
) -> None:
    settings = tmp_path / "settings"
    settings.mkdir()
    every = every_policy(settings)
    models = {name: load_dequantized(every[name], model_dir) for name in SWEPT}
    *_, written, chosen = asked(max_gen_toks=2)
    choices = [
        Instance("loglikelihood", {}, (chosen.args[0], end), at)
        for at, end in enumerate((" den", " the red fox"))
    ]

    def sweep(folder: Path) -> list[Any]:
        """Each in turn, beside it those that are still to come: as a sweep runs and goes on."""
        said = []
        for at, name in enumerate(SWEPT):
            lm = PackedLM(*models[name], 4, Events().report, Answers(folder / name))
            lm.evict_after = "context"
            lm.beside = [
                Beside(policy_of(models[later][0]), Answers(folder / later))
                for later in SWEPT[at + 1 :]
            ]
            said.append([lm.generate_until([written]), lm.loglikelihood(choices)])
        return said

    whole = tmp_path / "whole"
    unbroken = sweep(whole)
    total = sum(len(Answers(one)._known) for one in whole.iterdir())
    contexts = len(readings)
    assert total == contexts * len(SWEPT) > len(SWEPT)
    for kept in range(total):
        folder = tmp_path / str(kept)
        readings.clear()
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
            killed_after(patch, kept)
            sweep(folder)
        assert len(readings) == kept // len(SWEPT) + 1
        assert sweep(folder) == unbroken, f"killed at answer {kept + 1} of {total}"
        assert len(readings) == contexts + 1, "what was being read is read again, and nothing else"
