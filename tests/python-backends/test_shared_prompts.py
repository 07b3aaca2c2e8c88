"""Prompts that are read once for several settings: answers are those of each asked alone."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from cache_examples import Keeps
from evaluation_fixtures import Events, wire_task, words, write_rows
from test_cut_evaluation import CUT, PARENT, asked, choice_task, write
from test_evaluate import evaluate

from pare_backends.cache import reading, scoring
from pare_backends.cache.attach import attach_policy
from pare_backends.cache.policy import Seen
from pare_backends.calls.evaluate import OriginalModel
from pare_backends.checkpoint import load_dequantized
from pare_backends.checkpoint.setting import PACKAGE, Setting, write_setting
from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.packed import shared_prompts
from pare_backends.evaluation.packed.language_model import PackedLM
from pare_backends.evaluation.packed.shared_prompts import Beside
from pare_backends.failures import CallFailure
from pare_backends.knobs import declaration
from pare_backends.measuring.answering import BesideSetting
from pare_backends.method_file import methods_in

BUDGETS = (16, 20, 28)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Tokens of each context that is read."""
    read: list[int] = []
    own = reading.read_context

    def counted(model: Any, tokens: Any) -> Any:
        read.append(tokens.shape[1])
        return own(model, tokens)

    monkeypatch.setattr(reading, "read_context", counted)
    yield read


def test_a_prompt_is_read_once_and_every_answer_is_that_of_a_setting_alone(
    model_dir: Path, tmp_path: Path, readings: list[int]
) -> None:
    _, choices = choice_task(tmp_path)
    rows = write_rows(tmp_path / "t.jsonl", [{"text": words(200)}])
    text = wire_task("custom_text", rows, window_tokens=64)
    settings = {budget: write(tmp_path / str(budget), budget) for budget in BUDGETS}
    original = OriginalModel(str(model_dir), PARENT, str(tmp_path / "said"))

    def run(budget: int, answers: Path, beside: list[BesideSetting]) -> Any:
        return evaluate(
            settings[budget],
            [choices, text],
            {choices.task: list(range(5)), text.task: [0, 1, 2]},
            tmp_path,
            weights_dir=str(model_dir),
            original=original,
            answers_path=str(answers),
            beside=beside,
            **CUT,
        )

    def paths(folder: str) -> dict[int, Path]:
        return {budget: tmp_path / folder / f"{budget}.jsonl" for budget in BUDGETS}

    alone, together = paths("alone"), paths("together")
    one_by_one = {budget: run(budget, alone[budget], []) for budget in BUDGETS}
    contexts = len(readings) // len(BUDGETS)
    assert len(readings) == contexts * len(BUDGETS)
    readings.clear()

    beside = [BesideSetting(str(settings[one]), str(together[one])) for one in BUDGETS[1:]]
    shared = {BUDGETS[0]: run(BUDGETS[0], together[BUDGETS[0]], beside)}
    assert len(readings) == contexts
    for budget in BUDGETS[1:]:
        shared[budget] = run(budget, together[budget], [])
        assert shared[budget][0]["reused_requests"] == shared[budget][0]["requests"]
    assert len(readings) == contexts

    def told(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**sample, "seconds": None} for sample in samples]

    for budget in BUDGETS:
        assert told(shared[budget][1]) == told(one_by_one[budget][1])
        assert all(sample["seconds"] > 0 for sample in shared[budget][1])
        assert shared[budget][0]["protocol"] == one_by_one[budget][0]["protocol"]


def language_model(
    model_dir: Path, setting_dir: Path, answers: Path, beside: list[Beside]
) -> PackedLM:
    model, tokenizer = load_dequantized(setting_dir, model_dir)
    lm = PackedLM(model, tokenizer, 4, Events().report, Answers(answers))
    lm.beside = beside
    return lm


def policy(model_dir: Path, setting_dir: Path) -> Any:
    from pare_backends.cache.policy import policy_of

    return policy_of(load_dequantized(setting_dir, model_dir)[0])


def test_generations_of_one_prompt_share_its_reading(
    model_dir: Path, tmp_path: Path, readings: list[int]
) -> None:
    small, large = (write(tmp_path / str(budget), budget) for budget in (16, 24))
    alone = {
        one: language_model(model_dir, one, tmp_path / "no" / one.name, []).generate_until(asked())
        for one in (small, large)
    }
    readings.clear()
    path = tmp_path / "large.jsonl"
    beside = [Beside(policy(model_dir, large), Answers(path))]
    lm = language_model(model_dir, small, tmp_path / "small.jsonl", beside)
    assert lm.generate_until(asked()) == alone[small]
    assert len(readings) == len(asked())
    other = language_model(model_dir, large, path, [])
    assert other.generate_until(asked()) == alone[large]
    assert other.answers.reused == len(asked()) == len(readings)
    assert alone[small] != alone[large]


def test_what_fails_beside_is_left_to_its_own_evaluation(
    model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = write(tmp_path / "16", 16)
    broken = policy(model_dir, write(tmp_path / "20", 20))
    answers = Answers(tmp_path / "20.jsonl")
    lm = language_model(model_dir, setting, tmp_path / "16.jsonl", [Beside(broken, answers)])
    own = lm.decode

    def failing(*arguments: Any, **options: Any) -> Any:
        from pare_backends.cache.policy import policy_of

        if policy_of(lm.model) is broken:
            raise CallFailure("not_a_number", "Cannot go on: a logit is no number")
        return own(*arguments, **options)

    monkeypatch.setattr(lm, "decode", failing)
    assert len(lm.generate_until(asked())) == len(asked())
    assert not (tmp_path / "20.jsonl").exists()


def test_settings_that_read_prompts_in_their_own_way_share_nothing(
    model_dir: Path, tmp_path: Path, readings: list[int]
) -> None:
    _, task = choice_task(tmp_path)
    streaming = tmp_path / "streaming"
    write_setting(Setting("kv_cache", "streaming", {"sinks": 2, "window": 16}, PARENT), streaming)
    answers = tmp_path / "streaming.jsonl"
    evaluate(
        write(tmp_path / "16", 16),
        [task],
        {task.task: [0, 1]},
        tmp_path,
        weights_dir=str(model_dir),
        answers_path=str(tmp_path / "16.jsonl"),
        beside=[BesideSetting(str(streaming), str(answers))],
        **CUT,
    )
    assert len(readings) == 2
    assert not answers.exists()
    with pytest.raises(CallFailure, match="it is no setting of a cache"):
        evaluate(
            write(tmp_path / "16", 16),
            [task],
            {task.task: [0]},
            tmp_path,
            weights_dir=str(model_dir),
            beside=[BesideSetting(str(model_dir), str(answers))],
            **CUT,
        )


def test_what_is_kept_of_each_context_is_counted_from_its_tensors(
    model_dir: Path, tmp_path: Path
) -> None:
    rows, task = choice_task(tmp_path)
    setting = write(tmp_path / "16", 16)
    result, samples, _ = evaluate(
        setting, [task], {task.task: list(range(5))}, tmp_path, weights_dir=str(model_dir), **CUT
    )
    model, tokenizer = load_dequantized(model_dir)
    config = model.config
    token = (
        2
        * config.num_hidden_layers
        * config.num_key_value_heads
        * 4
        * (config.hidden_size // config.num_attention_heads)
    )
    lengths = [len(tokenizer.encode(str(row["question"]))) - 1 for row in rows]
    assert [one["context_tokens"] for one in samples] == lengths
    assert [one["kept_tokens"] for one in samples] == [min(16, one) for one in lengths]
    assert [one["kv_bytes"] for one in samples] == [min(16, one) * token for one in lengths]
    for one, length in zip(samples, lengths, strict=True):
        if length <= 16:
            assert one["kept_places"] is None, "all of it stays"
            continue
        sixteenths = torch.bincount(torch.arange(length) * 16 // length, minlength=16)
        percent = torch.tensor(one["kept_places"]).view(config.num_hidden_layers, 16)
        assert torch.all((percent * sixteenths).sum(1) / 100 - 16 < 0.5), "each layer keeps 16"
        assert torch.all(percent[:, -1] == 100), "the window is in the last sixteenth"
    (figure,) = [m for m in result["measurements"] if m["metric"] == "context_kv_bytes"]
    assert figure["value"] == sum(min(16, one) * token for one in lengths) / 5
    at = {"weights_dir": str(model_dir), **CUT}
    _, whole, _ = evaluate(model_dir, [task], {task.task: list(range(5))}, tmp_path, **CUT)
    assert [one["kv_bytes"] for one in whole] == [one * token for one in lengths]
    everything = write(tmp_path / "all", 256)
    _, kept, _ = evaluate(everything, [task], {task.task: list(range(5))}, tmp_path, **at)
    assert [one["kv_bytes"] for one in kept] == [one["kv_bytes"] for one in whole]
    _, plain, _ = evaluate(model_dir, [task], {task.task: [0]}, tmp_path)
    assert plain[0]["kv_bytes"] is None


def every_policy(folder: Path) -> dict[str, Path]:
    """A setting of each method that shares prompts, with the defaults of its knobs but for a small
    budget; h2o and tova go on after the prompt."""
    found = {}
    for name in methods_in(PACKAGE / "kv_cache"):
        module = importlib.import_module(f"pare_backends.kv_cache.{name}")
        values = {one: knob.default for one, knob in declaration(module.Params).items()}
        small = {"budget": 20, "window": 4, "residual": 8}
        values |= {one: value for one, value in small.items() if one in values}
        # One reads a prompt in its own way where it is not told, one in an environment of its own.
        values |= {"evicts": "after_prompt", "window": 16} if name == "streaming" else {}
        if name != "kvpress":
            found[name] = folder / name
            write_setting(Setting("kv_cache", name, values, PARENT), folder / name)
    return found


def test_every_method_says_the_same_beside_others_as_alone(
    model_dir: Path, tmp_path: Path, readings: list[int]
) -> None:
    _, choices = choice_task(tmp_path)
    settings = every_policy(tmp_path / "settings")
    assert len(settings) >= 9
    answers = {name: tmp_path / "together" / f"{name}.jsonl" for name in settings}

    def run(name: str, **more: Any) -> list[dict[str, Any]]:
        at = {"weights_dir": str(model_dir), **CUT, **more}
        rows = {choices.task: list(range(5))}
        samples = evaluate(settings[name], [choices], rows, tmp_path, **at)[1]
        return [{**one, "seconds": None} for one in samples]

    alone = {name: run(name) for name in settings}
    readings.clear()
    first, *others = settings
    beside = [BesideSetting(str(settings[one]), str(answers[one])) for one in others]
    assert run(first, answers_path=str(answers[first]), beside=beside) == alone[first]
    for name in others:
        assert run(name, answers_path=str(answers[name])) == alone[name]
    assert len(readings) == 5
    differ = {tuple(one["choice_log_likelihoods"][0] for one in rows) for rows in alone.values()}
    assert len(differ) == len(settings), "the methods keep different tokens"


def test_no_more_caches_are_held_than_memory_has_room_for(
    model_dir: Path, tmp_path: Path, readings: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [write(tmp_path / str(budget), budget) for budget in BUDGETS]
    answers = [tmp_path / f"{one.name}.jsonl" for one in settings]
    beside = [
        Beside(policy(model_dir, one), Answers(path))
        for one, path in zip(settings[1:], answers[1:], strict=True)
    ]
    lm = language_model(model_dir, settings[0], answers[0], beside)
    prompts = asked()
    longest = max(len(lm.tok_encode(one.args[0])) for one in prompts)
    one_cache = shared_prompts.WholeContexts(lm.model).kept(longest).bytes
    monkeypatch.setattr(shared_prompts, "_free_bytes", lambda _: int(3.5 * one_cache))
    lm.generate_until(prompts)
    assert len(Answers(answers[1])._known) == len(prompts), "the first beside it fits"
    longer = sum(len(lm.tok_encode(one.args[0])) > 0.8 * longest for one in prompts)
    assert len(Answers(answers[2])._known) <= len(prompts) - longer


def test_seconds_of_a_shared_reading_are_those_that_each_would_have_taken_alone(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Quick(Keeps):
        def scores(self, seen: Seen) -> torch.Tensor:
            return -seen.keys.norm(dim=-1)

    class Slow(Quick):
        def keep(self, seen: Seen) -> torch.Tensor:
            time.sleep(0.1)
            return super().keep(seen)

    class BySums(Keeps):
        def scores(self, seen: Seen) -> torch.Tensor:
            return scoring.by_key_head(scoring.attention_sums(seen), seen, "kv_head_mean")

    rows = scoring.attention_rows

    def slow_rows(*arguments: Any) -> Any:
        time.sleep(0.1)
        return rows(*arguments)

    monkeypatch.setattr(scoring, "attention_rows", slow_rows)
    model, _ = load_dequantized(model_dir)
    own = attach_policy(model, Quick(8))
    layers = model.config.num_hidden_layers
    slow, first, second, quick = (
        one.seconds
        for one in reading.read_contexts(
            own, [Slow(8), BySums(8), BySums(12), Quick(8)], torch.arange(3, 35)[None]
        )
    )
    # The reading itself, which a busy machine makes longer, is in both.
    assert slow - quick > 0.05 * layers, "others' decisions are not its own"
    assert slow > 0.1 * layers
    assert min(first, second) > 0.1 * layers, "who takes sums over would have made them"
