"""Distillation's divergences and loss, against naive sums, closed values and trl's own."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pare_backends.distillation.divergence import (
    DIVERGENCES,
    divergence,
    jensen_shannon,
    kl,
    student_buckets,
    teacher_buckets,
)
from pare_backends.distillation.loss import (
    DistillationLoss,
    Mix,
    hidden_distance,
    layer_map,
    reward_weights,
)
from pare_backends.distillation.teacher import Answers

VOCABULARY = 11


def logits(seed: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(2 * np.random.default_rng(seed).standard_normal((*shape, VOCABULARY)))


def softmax(values: Sequence[float], temperature: float = 1.0) -> list[float]:
    powers = [math.exp(value / temperature) for value in values]
    return [power / sum(powers) for power in powers]


def naive(kind: str, t: list[float], s: list[float], beta: float) -> float:
    """The definitions, sum by sum. t, s: probabilities of the teacher and the student"""
    if kind == "forward_kl" or (kind == "jensen_shannon" and beta == 0):
        return sum(p * math.log(p / q) for p, q in zip(t, s, strict=True))
    if kind == "reverse_kl" or beta == 1:
        return sum(q * math.log(q / p) for p, q in zip(t, s, strict=True))
    m = [beta * p + (1 - beta) * q for p, q in zip(t, s, strict=True)]
    from_teacher = sum(p * math.log(p / r) for p, r in zip(t, m, strict=True))
    return beta * from_teacher + (1 - beta) * sum(
        q * math.log(q / r) for q, r in zip(s, m, strict=True)
    )


@pytest.mark.parametrize("kind", DIVERGENCES)
@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 1.0])
def test_each_divergence_is_its_definition(kind: str, beta: float) -> None:
    teacher, student = logits(1, 4), logits(2, 4)
    found = divergence(kind, teacher.log_softmax(-1), student.log_softmax(-1), beta)
    for row in range(4):
        t, s = softmax(teacher[row].tolist()), softmax(student[row].tolist())
        assert float(found[row]) == pytest.approx(naive(kind, t, s, beta), rel=1e-12)


def test_the_jensen_shannon_divergence_is_trls() -> None:
    path = Path(__file__).parent / "oracles" / "gkd_losses.json"
    recorded = json.loads(path.read_text())
    student, teacher = (
        torch.tensor(recorded[side], dtype=torch.float64) for side in ("student", "teacher")
    )
    assert len(recorded["losses"]) == 15
    for row in recorded["losses"]:
        t, s = ((one / row["temperature"]).log_softmax(-1) for one in (teacher, student))
        ours = jensen_shannon(t, s, row["beta"])
        recorded_loss = torch.tensor(row["loss"], dtype=torch.float64)
        assert torch.allclose(ours, recorded_loss, rtol=1e-10, atol=1e-12)


def test_the_limits_of_the_jensen_shannon_divergence_are_the_two_kls() -> None:
    teacher, student = logits(3, 5).log_softmax(-1), logits(4, 5).log_softmax(-1)
    small = 1e-6
    forward = jensen_shannon(teacher, student, small) / small
    reverse = jensen_shannon(teacher, student, 1 - small) / small
    assert torch.allclose(forward, jensen_shannon(teacher, student, 0.0), rtol=1e-3)
    assert torch.allclose(reverse, jensen_shannon(teacher, student, 1.0), rtol=1e-3)
    assert torch.equal(jensen_shannon(teacher, student, 0.0), kl(teacher, student))


@pytest.mark.parametrize("kind", DIVERGENCES)
def test_a_distribution_is_not_apart_from_itself(kind: str) -> None:
    same = logits(5, 6).float().log_softmax(-1)
    assert float(divergence(kind, same, same, 0.5).abs().max()) < 1e-6


@pytest.mark.parametrize("kind", DIVERGENCES)
@pytest.mark.parametrize("k", [1, 3, 10])
def test_over_the_top_k_and_the_tail_it_is_a_lower_bound(kind: str, k: int) -> None:
    teacher, student = logits(6, 50), logits(7, 50)
    full = divergence(kind, teacher.log_softmax(-1), student.log_softmax(-1), 0.5)
    top, buckets = teacher_buckets(teacher, k, 1.0)
    bounded = divergence(kind, buckets, student_buckets(student, top, 1.0), 0.5)
    assert bounded.shape == full.shape
    assert bool((bounded <= full + 1e-6).all())
    assert bool((bounded < full - 1e-6).any()) == (k < 10), "one token in the tail hides nothing"


def test_what_the_top_k_misses_is_the_tails_own_divergence() -> None:
    """KL - KL_k = p_T · KL(p | T ‖ q | T), and at most p_T ε² / 2 where ln(p / q) varies by ± ε."""
    teacher, student = logits(8, 200), logits(9, 200)
    p, q = teacher.log_softmax(-1), student.log_softmax(-1)
    top, buckets = teacher_buckets(teacher, 4, 1.0)
    gap = kl(p, q) - kl(buckets.double(), student_buckets(student, top, 1.0).double())
    tail = torch.ones_like(p, dtype=torch.bool).scatter(-1, top, False)
    for row in range(200):
        inside, outside = p[row][tail[row]], q[row][tail[row]]
        mass = float(inside.exp().sum())
        own = float(kl(inside.log_softmax(-1), outside.log_softmax(-1)))
        assert float(gap[row]) == pytest.approx(mass * own, abs=1e-5)
        ratio = inside - outside
        half_range = float(ratio.max() - ratio.min()) / 2
        assert float(gap[row]) <= mass * half_range**2 / 2 + 1e-5


def test_all_tokens_kept_leave_no_tail() -> None:
    teacher, student = logits(10, 3), logits(11, 3)
    top, buckets = teacher_buckets(teacher, VOCABULARY, 2.0)
    own = student_buckets(student, top, 2.0)
    assert buckets.shape[-1] == own.shape[-1] == VOCABULARY
    full = kl((teacher / 2).log_softmax(-1), (student / 2).log_softmax(-1))
    assert torch.allclose(kl(buckets, own).double(), full, atol=1e-6)


@dataclass
class Said:
    logits: torch.Tensor
    hidden_states: tuple[torch.Tensor, ...] = ()


class Table(torch.nn.Module):
    """A model whose logits are its weights."""

    def __init__(self, values: torch.Tensor) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(values.clone())

    def forward(self, input_ids: torch.Tensor, **_options: Any) -> Said:
        return Said(self.table[: len(input_ids)])


class Kept:
    """Rows as `TeacherRows` gives them, of logits at hand."""

    def __init__(self, teacher: torch.Tensor, k: int, temperature: float) -> None:
        self.top, self.buckets = teacher_buckets(teacher[:, :-1].float(), k, temperature)

    def of(self, numbers: Sequence[int]) -> Answers:
        numbers = list(numbers)
        return Answers(
            self.top[numbers].int(), self.buckets[numbers], torch.zeros(len(numbers)), None
        )


BATCH = torch.tensor([[1, 4, 2, 9], [3, 3, 0, 10]])


def loss_of(mix: Mix, teacher: torch.Tensor, weights: torch.Tensor | None = None) -> Any:
    kept: Any = Kept(teacher, VOCABULARY, mix.temperature)
    return DistillationLoss(mix, kept, weights)


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_the_loss_is_its_formula(temperature: float, share: float) -> None:
    teacher, student = logits(12, 2, 4), logits(13, 2, 4)
    mix = Mix(temperature, share, "forward_kl", 0.5)
    loss, terms = loss_of(mix, teacher)(Table(student.float()), BATCH, [0, 1])
    distance, text = [], []
    for window in range(2):
        for place in range(3):
            t = softmax(teacher[window, place].tolist(), temperature)
            s = softmax(student[window, place].tolist(), temperature)
            distance.append(naive("forward_kl", t, s, 0.5))
            plain = softmax(student[window, place].tolist())
            text.append(-math.log(plain[int(BATCH[window, place + 1])]))
    expected = share * temperature**2 * np.mean(distance) + (1 - share) * np.mean(text)
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-5)
    assert terms["kl"] == pytest.approx(np.mean(distance), rel=1e-5)
    assert terms["cross_entropy"] == pytest.approx(np.mean(text), rel=1e-5)


def test_the_gradient_keeps_its_size_at_any_temperature() -> None:
    """T² undoes what a softer softmax takes of the gradient: within a half, not 25 times."""
    sizes = []
    for temperature in (1.0, 5.0):
        model = Table(logits(14, 2, 4).float())
        mix = Mix(temperature, 1.0, "forward_kl", 0.5)
        loss, _ = loss_of(mix, logits(15, 2, 4))(model, BATCH, [0, 1])
        loss.backward()
        assert model.table.grad is not None
        sizes.append(float(model.table.grad.norm()))
    assert 0.4 < sizes[1] / sizes[0] < 2.5


@pytest.mark.parametrize("kind", DIVERGENCES)
def test_a_student_that_is_the_teacher_gets_no_gradient(kind: str) -> None:
    same = logits(16, 2, 4).float()
    model = Table(same + 1e-6)
    loss, terms = loss_of(Mix(2.0, 1.0, kind, 0.5), same)(model, BATCH, [0, 1])
    loss.backward()
    assert model.table.grad is not None and not model.table.grad.any()
    assert abs(terms["kl"]) < 1e-6


def test_windows_of_higher_reward_count_more() -> None:
    teacher, student = logits(17, 2, 4), logits(18, 2, 4).float()
    mix = Mix(2.0, 0.5, "forward_kl", 0.5)
    alone = [
        float(loss_of(mix, teacher[[n]])(Table(student[[n]]), BATCH[[n]], [0])[0].detach())
        for n in (0, 1)
    ]
    weights = reward_weights(torch.tensor([-1.0, -3.0]), 1.0)
    assert weights is not None and float(weights.mean()) == pytest.approx(1.0)
    ratio = math.exp(2)  # one standard deviation above the mean, one below
    assert float(weights[0] / weights[1]) == pytest.approx(ratio)
    both = float(loss_of(mix, teacher, weights)(Table(student), BATCH, [0, 1])[0].detach())
    assert both == pytest.approx((ratio * alone[0] + alone[1]) / (ratio + 1), rel=1e-5)


def test_no_reward_asked_or_none_that_differs_weighs_all_alike() -> None:
    assert reward_weights(torch.tensor([-1.0, -3.0]), 0.0) is None
    assert reward_weights(torch.tensor([-2.0, -2.0]), 1.0) is None


def test_hidden_states_are_compared_as_a_share_of_the_teachers_power() -> None:
    teacher = torch.randn((2, 1, 3, 5), generator=torch.Generator().manual_seed(1))
    states = [torch.zeros((2, 4, 5)), torch.zeros((2, 4, 5))]
    assert float(hidden_distance(states, teacher, (1,))) == pytest.approx(1.0)
    states[1][:, :-1] = teacher[:, 0]
    assert float(hidden_distance(states, teacher, (1,))) == 0.0


def test_layers_are_matched_evenly_and_the_last_with_the_last() -> None:
    assert layer_map(30, 30) == ((8, 15, 22, 30), (8, 15, 22, 30))
    assert layer_map(2, 4) == ((1, 2), (2, 4))
    own, theirs = layer_map(26, 30)
    assert own[-1] == 26 and theirs[-1] == 30 and list(theirs) == sorted(set(theirs))
