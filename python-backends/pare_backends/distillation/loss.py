"""The loss that a student is trained with: the teacher's distributions, the text's own next tokens
and, where asked, the teacher's hidden states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pare_backends.distillation.divergence import FORWARD, divergence, kl, student_buckets
from pare_backends.distillation.teacher import TeacherRows

if TYPE_CHECKING:
    import torch

NOISE = 1e-7
"""Nats per token, or share of a hidden state's power: what the order of a sum alone makes of equal
models. AdamW takes whole steps on gradients however small: a difference like this one is none."""
MOST_LAYERS = 4
"""Hidden states that are matched, evenly spaced, the last block's among them."""


@dataclass(frozen=True)
class Mix:
    """Which terms, and how much of each."""

    temperature: float
    share: float  # of the divergence; the rest is the cross entropy's
    kind: str  # of divergence
    beta: float  # of the Jensen-Shannon divergence
    hidden: float = 0.0  # weight of the hidden states' term
    student_layers: tuple[int, ...] = ()  # in the order of the teacher's in its rows


@dataclass(frozen=True)
class DistillationLoss:
    """share · T² · D(teacher ‖ student at temperature T) + (1 - share) · cross entropy
    + hidden · Σ ‖h_s - h_t‖² / ‖h_t‖² (Hinton et al. 2015, arXiv 1503.02531, with T² as there, so
    that the terms' gradients keep their proportion at any temperature).

    Means are over the tokens but each window's last. Over the teacher's top k and one tail bucket D
    is a lower bound of the divergence over the whole vocabulary (divergence.py): the more mass the
    teacher leaves outside its top k, the more of it goes unseen.
    """

    mix: Mix
    rows: TeacherRows  # of the windows that the loss is asked about, by their numbers
    weights: torch.Tensor | None = None  # (windows,) of mean 1; None: all alike

    def __call__(
        self, model: Any, batch: torch.Tensor, numbers: Sequence[int]
    ) -> tuple[torch.Tensor, Mapping[str, float]]:
        """(the loss, its terms by name). batch: (windows, tokens) int64"""
        import torch
        from torch.nn.functional import cross_entropy

        mix, rows = self.mix, self.rows.of(numbers)
        with_states = mix.hidden > 0
        said = model(input_ids=batch, use_cache=False, output_hidden_states=with_states)
        logits = said.logits[:, :-1].float()
        buckets = student_buckets(logits, rows.top_ids.to(logits.device).long(), mix.temperature)
        teacher = rows.log_probs.to(logits.device)
        apart = divergence(mix.kind, teacher, buckets, mix.beta)
        text = cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten(), reduction="none")
        text = text.view_as(apart)
        weights = self.weights_of(numbers, apart)
        distance = mix.temperature**2 * (weights * apart).mean()
        loss = mix.share * beyond_noise(distance) + (1 - mix.share) * (weights * text).mean()
        with torch.no_grad():
            forward = apart if mix.kind == FORWARD else kl(teacher, buckets)
            terms = {"kl": float(forward.mean()), "cross_entropy": float(text.mean())}
        if with_states:
            states = hidden_distance(said.hidden_states, rows.hidden, mix.student_layers)
            loss = loss + mix.hidden * beyond_noise(states)
            terms["hidden_distance"] = float(states.detach())
        return loss, terms

    def weights_of(self, numbers: Sequence[int], like: torch.Tensor) -> torch.Tensor:
        """(windows, 1) of the windows of a batch."""
        if self.weights is None:
            return like.new_ones((len(numbers), 1))
        return self.weights[list(numbers)].to(like.device)[:, None]


def beyond_noise(term: torch.Tensor) -> torch.Tensor:
    """The term, without a gradient where it is nothing but rounding."""
    return term * float(term.detach() > NOISE)


def hidden_distance(
    states: Sequence[torch.Tensor], teacher: torch.Tensor | None, layers: Sequence[int]
) -> torch.Tensor:
    """Mean over the matched layers of the squared distance, as a share of the teacher's power.

    states: by blocks passed, (windows, tokens, width)
    teacher: (windows, layers, tokens - 1, width)
    """
    import torch

    if teacher is None:
        raise ValueError("the teacher's hidden states were not kept")
    own = torch.stack([states[layer][:, :-1].float() for layer in layers], dim=1)
    theirs = teacher.to(own.device)
    power = theirs.square().mean((0, 2, 3))
    return ((own - theirs).square().mean((0, 2, 3)) / power.clamp_min(1e-12)).mean()


def layer_map(student: int, teacher: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(blocks passed in the student, in the teacher) of the hidden states that are matched: evenly
    spaced in both, the last with the last, however many blocks each has."""
    count = min(MOST_LAYERS, student)
    own = tuple(round((place + 1) * student / count) for place in range(count))
    return own, tuple(max(1, round(layer * teacher / student)) for layer in own)


def reward_weights(rewards: torch.Tensor, strength: float) -> torch.Tensor | None:
    """Weights of windows by their rewards, of mean 1: exp(strength · standardised reward), as in
    reward-weighted regression (Peters & Schaal 2007). Null strength: None, all alike.

    rewards: (windows,) larger is better
    """
    if strength == 0:
        return None
    spread = rewards.std(correction=0)
    if float(spread) == 0:
        return None
    weights = (strength * (rewards - rewards.mean()) / spread).exp()
    return weights / weights.mean()
