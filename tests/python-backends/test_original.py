"""KL to the original on text: the estimate against the whole vocabulary, and what is kept of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from evaluation_fixtures import Events, wire_task, words, write_rows

from pare_backends.checkpoint.load import load_dequantized
from pare_backends.evaluation.original import distributions
from pare_backends.evaluation.original.distance import (
    WindowDistance,
    token_kl,
    window_distance,
)
from pare_backends.evaluation.original.distributions import (
    Distributions,
    Original,
    keep,
    packed,
    read_distributions,
)
from pare_backends.evaluation.original.figures import distance_figures
from pare_backends.evaluation.perplexity import TextReader, run_perplexity, windows
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.failures import CallFailure

VOCABULARY = 3000


def spread(count: int, seed: int, noise: float = 0.0, scale: float = 1.0) -> torch.Tensor:
    """Made-up logits whose tail outside the top 64 holds a good share; the same but for noise."""
    generator = torch.Generator().manual_seed(1)
    logits = scale * torch.randn((count, VOCABULARY), generator=generator, dtype=torch.float64)
    other = torch.Generator().manual_seed(seed)
    return logits + noise * torch.randn(logits.shape, generator=other, dtype=torch.float64)


def kept(tmp_path: Path, logits: torch.Tensor, seed: int = 3) -> Distributions:
    """What a file gives back of these logits."""
    from safetensors.torch import save_file

    path = tmp_path / f"{seed}.safetensors"
    save_file(packed(logits, [0] * (len(logits) + 1), seed, "me"), str(path))
    return read_distributions(path, "me", logits.shape[-1])


def exact_kl(logits: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Over the whole vocabulary. returns: [T]"""
    p, q = torch.log_softmax(logits.double(), -1), torch.log_softmax(other.double(), -1)
    return (p.exp() * (p - q)).sum(-1)


def test_the_estimate_has_no_bias_where_a_bare_top_k_misses_most(tmp_path: Path) -> None:
    logits = spread(40, 0, scale=2.0)
    trial = spread(40, 5, noise=0.2, scale=2.0)
    every = torch.log_softmax(trial, -1)
    exact = float(exact_kl(logits, trial).mean())
    found = []
    for seed in range(40):  # draws anew each time: the distributions stay
        kl, variance = token_kl(every, kept(tmp_path, logits, seed))
        found.append(float(kl.mean()))
        assert bool((kl > -1e-4).all()) and bool((variance >= 0).all())
    mean = sum(found) / len(found)
    sd = math.sqrt(sum((x - mean) ** 2 for x in found) / (len(found) - 1))
    assert abs(mean - exact) < 4 * sd / math.sqrt(len(found)) + 1e-6
    assert sd < 0.1 * exact, (sd, exact)
    said = kept(tmp_path, logits)
    p_tail = said.tail.exp()
    assert float(p_tail.mean()) > 0.3
    top = every.gather(-1, said.top_ids)
    q_tail = (1 - top.exp().sum(-1)).log()
    bare = (said.top.exp() * (said.top - top)).sum(-1) + p_tail * (said.tail - q_tail)
    assert float(bare.mean()) < 0.8 * exact, "top k with one bucket is a lower bound, far off here"


def test_the_draws_own_error_is_said_as_large_as_it_is(tmp_path: Path) -> None:
    logits, trial = spread(40, 0, scale=2.0), spread(40, 5, noise=0.2, scale=2.0)
    every = torch.log_softmax(trial, -1)
    runs = [token_kl(every, kept(tmp_path, logits, seed)) for seed in range(60)]
    means = torch.stack([kl.mean() for kl, _ in runs])
    said = torch.stack([variance.sum().sqrt() / 40 for _, variance in runs]).mean()
    assert 0.6 < float(means.std() / said) < 1.6


def test_a_model_is_nowhere_from_itself(tmp_path: Path) -> None:
    logits = spread(30, 0)
    found = window_distance(torch.cat([logits, logits[:1]]), [0] * 31, kept(tmp_path, logits))
    assert max(abs(x) for x in found.kl) < 2e-5, "what rounding log-probabilities to steps costs"
    assert (found.same_top, round(found.squared_delta_p, 9)) == (30, 0.0)


def test_a_vocabulary_below_the_top_k_has_no_tail_and_is_exact(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(2)
    logits, trial = torch.randn((2, 9, 20), generator=generator, dtype=torch.float64)
    kl, variance = token_kl(torch.log_softmax(trial, -1), kept(tmp_path, logits))
    assert torch.allclose(kl, exact_kl(logits, trial), atol=1e-4)
    assert float(variance.sum()) == 0.0


def test_a_token_takes_368_bytes() -> None:
    tensors = packed(spread(10, 0), [0] * 11, 1, "")
    said = tensors.pop("identity")
    assert sum(one.numel() * one.element_size() for one in tensors.values()) == 10 * 368
    assert bytes(said.tolist()) == f" {VOCABULARY}".encode()


def test_another_model_tokenizer_or_vocabulary_is_refused(tmp_path: Path) -> None:
    logits = spread(4, 0)
    kept(tmp_path, logits, 7)
    for identity, vocabulary in (("other", VOCABULARY), ("me", VOCABULARY + 1)):
        with pytest.raises(CallFailure, match=r"what is kept is of the model.* me 3000, wanted"):
            read_distributions(tmp_path / "7.safetensors", identity, vocabulary)


def text_task(folder: Path) -> tuple[Any, Any]:
    path = write_rows(folder / "text.jsonl", [{"text": words(400, 90 + i)} for i in range(3)])
    task = wire_task("custom_text", path, window_tokens=32)
    return task, load_documents(task)


def test_text_has_the_kl_of_the_whole_vocabulary_and_the_baseline_none(
    model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributions, "TOP_K", 16)  # the tiny vocabulary is to have a tail
    task, documents = text_task(tmp_path)
    model, tokenizer = load_dequantized(model_dir)
    original = Original(model_dir, tmp_path / "cache", "me")
    rows = [0, 1, 2, 3]

    def run(trial: Any, loaded: Any = None) -> Any:
        events = Events()
        reader = TextReader(trial, tokenizer, 4, events.report, original=original, loaded=loaded)
        return run_perplexity(task, documents, rows, reader)

    figures = {one.metric: one for one in run(model, model).figures}
    assert abs(figures["kl"].value) < 1e-5
    assert figures["same_top_token"].value == 1.0
    trial, _ = load_dequantized(model_dir)
    torch.manual_seed(4)
    with torch.no_grad():
        for parameter in trial.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    outcome = run(trial)
    every = windows(task, documents, tokenizer)
    exact = []
    for row in rows:
        tokens = torch.tensor([every[row]])
        with torch.no_grad():
            exact.append(exact_kl(model(tokens).logits[0, :-1], trial(tokens).logits[0, :-1]))
    direct = torch.stack([one.mean() for one in exact])
    kl = {one.metric: one for one in outcome.figures}["kl"]
    assert kl.n == 4 and "4 windows, 124 tokens" in kl.how
    assert kl.value == pytest.approx(float(direct.mean()), rel=0.1)
    assert kl.standard_error == pytest.approx(float(direct.std() / 2), rel=0.25)
    for sample, wanted in zip(outcome.samples, direct, strict=True):
        assert sample.kl == pytest.approx(float(wanted), rel=0.25)
    plain = run_perplexity(task, documents, rows, TextReader(trial, tokenizer, 4, Events().report))
    assert (plain.value, plain.samples[0].kl, plain.figures) == (outcome.value, None, ())


def test_windows_that_are_not_kept_are_computed_once_by_loading_the_original(
    model_dir: Path, tmp_path: Path
) -> None:
    original = Original(model_dir, tmp_path, "me")
    text = [[1, 2, 3, 4, 5], [3, 4, 5, 6, 7]]
    events = Events()
    assert original.missing(text) == text
    keep(original, original.missing(text), None, events.report)
    assert [one["done"] for one in events.named("progress") if one["label"] == "original"] == [1, 2]
    assert original.missing(text) == []
    original.path(text[0]).write_bytes(b"half")
    assert original.missing(text) == [text[0]], "a damaged file is made anew"


def test_the_figures_are_those_of_all_tokens() -> None:
    told = [
        WindowDistance([0.0, 0.1, 0.2, 0.3], 3, 0.4, 0.04, 0.0),
        WindowDistance([0.4, 0.5, 0.6, 0.9], 1, -0.8, 0.12, 0.0),
    ]
    figures = {one.metric: one.value for one in distance_figures(told, 0.1)}
    assert figures == pytest.approx(
        {
            **{"kl": 0.375, "kl_median": 0.35, "kl_p90": 0.69, "kl_p99": 0.879},
            **{"kl_p999": 0.8979, "kl_maximum": 0.9, "same_top_token": 0.5},
            **{"mean_delta_p": -0.05, "rms_delta_p": math.sqrt(0.02)},
        }
    )
    assert WindowDistance.of(told[0].listed()) == told[0]
