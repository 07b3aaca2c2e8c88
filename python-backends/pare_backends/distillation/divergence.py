"""How far a student's next-token distributions are from its teacher's, in nats per token.

Both are given by their log-probabilities over the same buckets: every token of the vocabulary, or
the teacher's most likely ones and one bucket with the mass of all others. Over buckets each of
these is a lower bound of the same divergence over all tokens (log-sum inequality), and equal to it
where the tail bucket holds nothing, or the student spreads the tail as the teacher does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

FORWARD, REVERSE, JENSEN_SHANNON = "forward_kl", "reverse_kl", "jensen_shannon"
DIVERGENCES = (FORWARD, REVERSE, JENSEN_SHANNON)


def divergence(
    kind: str, teacher: torch.Tensor, student: torch.Tensor, beta: float
) -> torch.Tensor:
    """Of each token. teacher, student: (…, buckets) log-probabilities; returns: (…)

    beta: of the Jensen-Shannon divergence alone
    """
    if kind == FORWARD:
        return kl(teacher, student)
    if kind == REVERSE:
        return kl(student, teacher)
    if kind == JENSEN_SHANNON:
        return jensen_shannon(teacher, student, beta)
    raise ValueError(f'Unknown divergence "{kind}". Known: {", ".join(DIVERGENCES)}')


def kl(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """KL(one ‖ other) = Σ p (ln p - ln q). one, other: (…, buckets); returns: (…)"""
    return (one.exp() * (one - other)).sum(-1)


def jensen_shannon(teacher: torch.Tensor, student: torch.Tensor, beta: float) -> torch.Tensor:
    """β KL(t ‖ m) + (1 - β) KL(s ‖ m), m = β t + (1 - β) s (Agarwal et al. 2023, arXiv 2306.13649,
    equation 1). At β = 0 and 1, where that is 0 for any two, it is forward and reverse KL, as in
    trl's GKDTrainer: the limits of JSD / β and of JSD / (1 - β).

    teacher, student: (…, buckets); returns: (…)
    """
    import math

    import torch

    if beta == 0.0:
        return kl(teacher, student)
    if beta == 1.0:
        return kl(student, teacher)
    mixture = torch.logaddexp(teacher + math.log(beta), student + math.log1p(-beta))
    return beta * kl(teacher, mixture) + (1 - beta) * kl(student, mixture)


def student_buckets(
    logits: torch.Tensor, top_ids: torch.Tensor, temperature: float
) -> torch.Tensor:
    """The student's log-probabilities over the teacher's buckets, of which the tail is the last.

    logits: (…, vocabulary); top_ids: (…, k) int64; returns: (…, k + 1), or (…, k) where k is all
    """
    import torch

    every = torch.log_softmax(logits / temperature, dim=-1)
    top = every.gather(-1, top_ids)
    if top_ids.shape[-1] == logits.shape[-1]:
        return top
    tail = every.scatter(-1, top_ids, -torch.inf).logsumexp(-1, keepdim=True)
    return torch.cat((top, tail), dim=-1)


def teacher_buckets(
    logits: torch.Tensor, k: int, temperature: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """(ids of the teacher's k most likely tokens, its log-probabilities over the buckets).

    logits: (…, vocabulary); returns: (…, k) int64, and (…, k + 1), or (…, k) where k is all
    """
    top_ids = logits.topk(k, dim=-1).indices
    return top_ids, student_buckets(logits, top_ids, temperature)
