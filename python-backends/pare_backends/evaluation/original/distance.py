"""How far a trial's next-token distributions are from the original's on windows of text.

With T the tokens outside the original's top k, p the original's probabilities and q the trial's,
which are known in full when it runs (deciding by a stored file of the original alone):

    KL = Σ_top p ln(p/q) + (p_T − q_T) + p_T · mean over the draws of (u − 1 + exp(−u))

with u = ln(p/q) of a draw.

Σ_T (q − p) = q_T − p_T is known, so that the draws carry a correction of second order alone: it is
never negative, has no bias, and its variance is small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pare_backends.evaluation.original.distributions import ROWS, Distributions

if TYPE_CHECKING:
    import torch

DIGITS = 7
"""Significant digits of a token's KL that are kept: a mean over thousands needs no more."""


@dataclass(frozen=True)
class WindowDistance:
    """How far a window's tokens are, as it is kept with the model's answers."""

    kl: list[float]
    """Nats, of each scored token."""
    same_top: int
    """Tokens whose most likely continuation is the original's."""
    delta_p: float
    """Sum over tokens of the probability of the text's own, the trial's less the original's."""
    squared_delta_p: float
    draws_variance: float
    """Of the sum of `kl`, from the draws alone: what a full distribution would not have."""

    def listed(self) -> list[Any]:
        """As JSON keeps it."""
        return [
            [float(f"{x:.{DIGITS}g}") for x in self.kl],
            self.same_top,
            self.delta_p,
            self.squared_delta_p,
            self.draws_variance,
        ]

    @classmethod
    def of(cls, listed: Sequence[Any]) -> WindowDistance:
        """From what `listed` gave."""
        kl, same_top, *sums = listed
        return cls([float(x) for x in kl], int(same_top), *(float(x) for x in sums))

    @property
    def mean(self) -> float:
        """Nats per token."""
        return sum(self.kl) / len(self.kl)


def window_distance(
    logits: torch.Tensor, window: Sequence[int], original: Distributions
) -> WindowDistance:
    """A trial's logits of a window against what the original said. logits: [T + 1, vocabulary], the
    last of which predicts a token that is not there"""
    import torch

    kl: list[float] = []
    same_top, delta_p, squared, variance = 0, 0.0, 0.0, 0.0
    text = torch.tensor(list(window)[1:])
    for start in range(0, len(text), ROWS):
        some = slice(start, min(start + ROWS, len(text)))
        said = original.rows(some)
        every = torch.log_softmax(logits[some].cpu().double(), dim=-1)  # [t, vocabulary]
        found, drawn = token_kl(every, said)
        kl += found.tolist()
        variance += float(drawn.sum())
        delta = every.gather(-1, text[some, None])[:, 0].exp() - said.own.exp()
        same_top += int((every.argmax(-1) == said.top_ids[:, 0]).sum())
        delta_p += float(delta.sum())
        squared += float((delta**2).sum())
    return WindowDistance(kl, same_top, delta_p, squared, variance)


def token_kl(every: torch.Tensor, original: Distributions) -> tuple[torch.Tensor, torch.Tensor]:
    """The estimate of the KL of each token in nats, and the variance that the draws give it.

    every: [T, vocabulary] float64, the trial's log-probabilities; returns: [T], [T]"""
    import torch

    top = every.gather(-1, original.top_ids)  # [T, k]
    share = original.top.exp()
    head = (share * (original.top - top)).sum(-1)
    p_tail = original.tail.exp()
    q_tail = (1 - top.exp().sum(-1)).clamp(min=0)
    there = original.drawn_ids >= 0
    q_drawn = every.gather(-1, original.drawn_ids.clamp(min=0))
    u = torch.where(there, original.drawn - q_drawn, 0.0)
    correction = u - 1 + (-u).exp()
    kl = head + (p_tail - q_tail) + p_tail * correction.mean(-1)
    return kl, p_tail**2 * correction.var(-1) / correction.shape[-1]
