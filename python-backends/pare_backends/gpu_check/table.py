"""The table of a check: what passed on the GPU, and how its figures compare with the CPU's."""

from __future__ import annotations

from collections.abc import Sequence

from pare_backends.gpu_check.steps import Tried

NEAR = 0.1
"""How far a divergence on the GPU may lie from the CPU's, as a share of it."""
NOISE = 0.0002
"""Nats per token by which they may differ in any case: weights are near, not equal, as sums are
taken in another order."""
UNCHANGED = 1e-7
"""Nats per token: what the order of sums alone makes of equal models."""
MEGA = 1e6


def table_of(on_gpu: Sequence[Tried], on_cpu: Sequence[Tried]) -> tuple[str, int]:
    """(a Markdown table, the number of steps that did not pass)."""
    beside = {one.step: one for one in on_cpu}
    heads = ("step", "GPU", "s", "s on CPU", "KL", "KL on CPU", "GPU MB", "J")
    rows = [heads, tuple("---" for _ in heads)]
    failed = 0
    for one in on_gpu:
        other = beside.get(one.step)
        status = verdict(one, other)
        failed += status.startswith("failed")
        rows.append(
            (
                one.step,
                status,
                f"{one.seconds:.2f}",
                "" if other is None or other.status != "passed" else f"{other.seconds:.2f}",
                *(number(divergence(each)) for each in (one, other)),
                "" if one.gpu_bytes is None else f"{one.gpu_bytes / MEGA:.0f}",
                number(one.figures.get("joules")),
            )
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows), failed


def verdict(one: Tried, other: Tried | None) -> str:
    """passed, or why not."""
    if one.status != "passed":
        return f"{one.status}: {one.reason}"
    own, theirs = divergence(one), divergence(other)
    if own is None:
        return "passed"
    if "/" in one.step and own < UNCHANGED:
        return f"failed: KL {own:.4g}, as if the method had done nothing"
    if theirs is None:
        return "passed, compared with nothing"
    if abs(own - theirs) > NOISE + NEAR * theirs:
        return f"failed: KL {own:.4g}, on the CPU {theirs:.4g}"
    return "passed"


def divergence(tried: Tried | None) -> float | None:
    """From the original, nats per token; None where none was measured."""
    if tried is None:
        return None
    return tried.figures.get("kl_divergence", tried.figures.get("kl"))


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
