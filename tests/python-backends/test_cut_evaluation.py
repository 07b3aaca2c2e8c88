"""Evaluation that cuts a cache after the context: every figure is that of a cache cut by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from evaluation_fixtures import Events, wire_task, words, write_rows
from lm_eval.api.instance import Instance
from test_evaluate import CHOICES, evaluate

from pare_backends.cache.reading import read_context
from pare_backends.calls.evaluate import OriginalModel
from pare_backends.checkpoint import load_dequantized
from pare_backends.checkpoint.setting import Setting, write_setting
from pare_backends.evaluation.packed.language_model import PackedLM
from pare_backends.failures import CallFailure

BUDGET = 16
PARENT = "0123456789abcdef"
CUT = {"evict_after": "context"}


def write(directory: Path, budget: int = BUDGET) -> Path:
    """A setting that keeps so many tokens of a context."""
    values = {"budget_in": "tokens", "budget": budget, "share": 0.25, "sinks": 0, "window": 4}
    write_setting(
        Setting("kv_cache", "snapkv", {**values, "kernel": 3, "pool": "mean"}, PARENT), directory
    )
    return directory


@pytest.fixture(scope="module")
def setting_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("setting"))


class ByHand:
    """A model without a policy, its cache cut by hand to the places that the policy keeps."""

    def __init__(self, model_dir: Path, setting_dir: Path) -> None:
        self.plain, self.tokenizer = load_dequantized(model_dir)
        self.policy, _ = load_dequantized(setting_dir, model_dir)

    @torch.no_grad()
    def scores(self, context: list[int], after: list[int]) -> torch.Tensor:
        """Log-probabilities of the token after the context, and after each of `after`, read token
        by token from what is kept of the context but its last. returns: (1 + after, words)"""
        held = None
        if len(context) > 1:
            read = torch.tensor([context[:-1]])
            held = self.plain(read, use_cache=True).past_key_values
            kept = read_context(self.policy, read)
            for layer, own in zip(held.layers, kept.layers, strict=True):
                at = own.places[..., None].expand(*own.places.shape, layer.keys.shape[-1])
                layer.keys, layer.values = layer.keys.gather(2, at), layer.values.gather(2, at)
        found = []
        for place, token in enumerate([context[-1], *after], start=len(context) - 1):
            out = self.plain(
                torch.tensor([[token]]),
                past_key_values=held,
                use_cache=True,
                position_ids=torch.tensor([[place]]),
            )
            held = out.past_key_values
            found.append(out.logits[0, -1].log_softmax(-1))
        return torch.stack(found)

    def likelihood(self, context: str, ending: str) -> float:
        before = self.tokenizer.encode(context)
        after = self.tokenizer.encode(context + ending)[len(before) :]
        scores = self.scores(before, after[:-1])
        return sum(float(scores[i, token]) for i, token in enumerate(after))


def choice_task(folder: Path) -> Any:
    rows = [
        {"question": words(5 + 12 * i, i), "choices": CHOICES, "answer": i % 4} for i in range(5)
    ]
    return rows, wire_task("everyday_choice", write_rows(folder / "d.jsonl", rows))


def test_choices_follow_from_a_copy_of_the_cut_context(
    model_dir: Path, setting_dir: Path, tmp_path: Path
) -> None:
    rows, task = choice_task(tmp_path)
    chosen = {task.task: list(range(5))}
    at = {"weights_dir": str(model_dir), **CUT}
    result, samples, events = evaluate(setting_dir, [task], chosen, tmp_path, **at)
    _, whole, _ = evaluate(model_dir, [task], chosen, tmp_path)
    hand = ByHand(model_dir, setting_dir)
    for row, sample, full in zip(rows, samples, whole, strict=True):
        question = str(row["question"])
        wanted = [hand.likelihood(question, " " + one) for one in CHOICES]
        assert sample["choice_log_likelihoods"] == pytest.approx(wanted, abs=1e-4)
        # "den" is one token: what was cut counts for it too.
        differs = sample["choice_log_likelihoods"][0] != pytest.approx(
            full["choice_log_likelihoods"][0], abs=1e-4
        )
        assert differs == (len(hand.tokenizer.encode(question)) - 1 > BUDGET)
        assert sample["seconds"] > 0
    method = result["measurements"][0]["method"]
    assert "evicted after the context" in method
    assert "kv_cache/snapkv (budget 16, budget_in tokens" in method
    assert events.named("alert") == []


def test_what_cuts_nothing_has_the_models_own_figures_under_one_protocol(
    model_dir: Path, setting_dir: Path, tmp_path: Path
) -> None:
    _, task = choice_task(tmp_path)
    text = wire_task(
        "custom_text", write_rows(tmp_path / "t.jsonl", [{"text": words(200)}]), window_tokens=64
    )
    rows = {task.task: list(range(5)), text.task: [0, 1, 2]}
    everything = write(tmp_path / "all", 256)
    runs = {
        "whole texts": evaluate(model_dir, [task, text], rows, tmp_path),
        "baseline": evaluate(model_dir, [task, text], rows, tmp_path, **CUT),
        **{
            name: evaluate(
                directory, [task, text], rows, tmp_path, weights_dir=str(model_dir), **CUT
            )
            for name, directory in (("keeps all", everything), ("cut", setting_dir))
        },
    }
    protocols = {name: result["protocol"] for name, (result, _, _) in runs.items()}
    assert protocols["baseline"] == protocols["keeps all"] == protocols["cut"]
    for name in (task.task, text.task):
        assert protocols["baseline"][name] != protocols["whole texts"][name]
    parts = runs["cut"][0]["protocol_parts"]
    assert parts[task.task]["evict_after"] == "context"
    assert parts[text.task]["evict_after"] == "context of 32 tokens"
    assert "evict_after" not in runs["whole texts"][0]["protocol_parts"][task.task]

    def likelihoods(name: str) -> list[float]:
        return [one["log_likelihood"] for one in runs[name][1]]

    assert likelihoods("keeps all") == pytest.approx(likelihoods("baseline"), abs=1e-3)
    assert likelihoods("baseline")[:5] == pytest.approx(likelihoods("whole texts")[:5], abs=1e-3)
    assert likelihoods("cut") != pytest.approx(likelihoods("baseline"), abs=1e-2)


def test_perplexity_and_kl_are_of_the_second_half_of_each_window(
    model_dir: Path, setting_dir: Path, tmp_path: Path
) -> None:
    text = words(200, 1)
    task = wire_task(
        "custom_text", write_rows(tmp_path / "d.jsonl", [{"text": text}]), window_tokens=64
    )
    original = OriginalModel(str(model_dir), PARENT, str(tmp_path / "said"))
    rows = {task.task: [0, 1, 2]}
    asked = {"original": original, **CUT}
    result, samples, _ = evaluate(
        setting_dir, [task], rows, tmp_path, weights_dir=str(model_dir), **asked
    )
    baseline, _, _ = evaluate(model_dir, [task], rows, tmp_path, **asked)
    hand = ByHand(model_dir, setting_dir)
    tokens = hand.tokenizer.encode(text)
    losses, distances = [], []
    for start in (0, 64, 128):
        window = tokens[start : start + 64]
        scores = hand.scores(window[:32], window[32:63])
        losses.append(-float(scores[range(32), window[32:]].double().mean()))
        with torch.no_grad():
            own = hand.plain(torch.tensor([window])).logits[0, 31:63].log_softmax(-1).double()
        kl = (own.exp() * (own - scores.double())).sum(-1)
        distances.append(float(kl.mean()))
    assert [sample["score"] for sample in samples] == pytest.approx(losses, rel=1e-5)
    assert [s["log_likelihood"] for s in samples] == pytest.approx([-32 * x for x in losses])
    # The original's file keeps the 64 likeliest tokens and draws of the rest, in 16 bits each.
    assert [sample["kl"] for sample in samples] == pytest.approx(distances, rel=0.02)
    value = result["measurements"][0]["value"]
    assert value == pytest.approx(math.exp(sum(losses) / 3), rel=1e-5)
    assert "the first 32 are context" in result["measurements"][0]["method"]
    kl = {one["metric"]: one["value"] for one in baseline["measurements"]}["kl"]
    assert kl == pytest.approx(0, abs=1e-3)


def asked(**options: Any) -> list[Instance]:
    kwargs = {"max_gen_toks": 6, "until": ["<never>"], "do_sample": False, **options}
    prompts = [f"{words(9)} {words(3 + 8 * n, n)}" for n in range(4)]
    return [Instance("generate_until", {}, (p, dict(kwargs)), i) for i, p in enumerate(prompts)]


def language_model(model_dir: Path, setting_dir: Path) -> PackedLM:
    model, tokenizer = load_dequantized(setting_dir, model_dir)
    return PackedLM(model, tokenizer, 4, Events().report)


def test_generations_are_greedy_search_from_the_cut_prompt(
    model_dir: Path, setting_dir: Path
) -> None:
    lm = language_model(model_dir, setting_dir)
    found = lm.generate_until(asked())
    hand = ByHand(model_dir, setting_dir)
    for request, text in zip(asked(), found, strict=True):
        prompt, made = hand.tokenizer.encode(request.args[0]), []
        for _ in range(6):
            made.append(int(hand.scores(prompt, made)[-1].argmax()))
            if made[-1] == hand.tokenizer.eos_token_id:
                break
        assert text == lm.tok_decode(made)


def test_drawn_generations_run_and_are_the_same_again(model_dir: Path, setting_dir: Path) -> None:
    drawn = asked(do_sample=True, temperature=0.8, top_p=0.95)
    drawn = [one for one in drawn for _ in range(3)]
    first = language_model(model_dir, setting_dir).generate_until(drawn)
    assert first == language_model(model_dir, setting_dir).generate_until(drawn)
    assert len(set(first[:3])) > 1


def test_whole_texts_are_refused_before_any_work(
    model_dir: Path, setting_dir: Path, tmp_path: Path
) -> None:
    _, task = choice_task(tmp_path)
    with pytest.raises(CallFailure, match="one pass over a text says nothing") as raised:
        evaluate(setting_dir, [task], {task.task: [0]}, tmp_path, weights_dir=str(model_dir))
    assert "where 16 tokens a head, those that its last 4" in raised.value.message
    assert not (tmp_path / "samples.parquet").exists()


def test_a_context_of_one_token_has_nothing_to_let_go_of(
    model_dir: Path, setting_dir: Path
) -> None:
    lm, hand = language_model(model_dir, setting_dir), ByHand(model_dir, setting_dir)
    [(likelihood, _)] = lm._loglikelihood_tokens([(("a", "b"), [5], [7, 8, 9])])
    scores = hand.scores([5], [7, 8])
    wanted = sum(float(scores[i, token]) for i, token in enumerate([7, 8, 9]))
    assert likelihood == pytest.approx(wanted, abs=1e-4)
