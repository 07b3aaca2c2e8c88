"""Packs log-likelihood requests into few long rows, so that no token is computed twice.

Requests with one context (the choices of a question) share it; a prefix that all contexts share
(few-shot examples) is computed once; requests of different contexts stand side by side in one row,
kept apart by the attention mask. On two CPU cores that is 2 to 4 times faster than padded batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pare_backends.failures import CallFailure

SHORTEST_PREFIX = 64
"""Tokens from which on a common prefix is worth a key-value cache."""


@dataclass(frozen=True)
class Branch:
    """One continuation of a context. `request` is its number in the caller's list."""

    request: int
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """Requests that share one context."""

    context: tuple[int, ...]
    branches: tuple[Branch, ...]

    @property
    def length(self) -> int:
        """Tokens in the row: the last token of a continuation is predicted, never read."""
        return len(self.context) + sum(len(branch.tokens) - 1 for branch in self.branches)


@dataclass
class PackedRow:
    """Tokens of one forward pass; letters: T tokens of the row, P tokens of the prefix."""

    tokens: list[int] = field(default_factory=list)  # [T]
    positions: list[int] = field(default_factory=list)  # [T]
    group_of: list[int] = field(default_factory=list)  # [T]
    branch_of: list[int] = field(default_factory=list)  # [T], -1 = context
    keep: list[int] = field(default_factory=list)
    """Places whose logits are needed, ascending."""
    targets: list[tuple[int, list[int], tuple[int, ...]]] = field(default_factory=list)
    """Request, its places in the row, its tokens."""


def group_requests(
    requests: Sequence[tuple[Sequence[int], Sequence[int]]], max_length: int
) -> list[Group]:
    """Groups (context, continuation) by context, longest first. A request that is too long for
    the model loses tokens from the left, as in lm-eval."""
    found: dict[tuple[int, ...], list[Branch]] = {}
    for number, (context, continuation) in enumerate(requests):
        if len(continuation) == 0:
            raise CallFailure(
                "bad_input",
                f"Cannot score answer {number + 1} of {len(requests)} as it has no token: it is "
                "empty, or the model's tokenizer knows nothing in it",
                hint="give the model's own tokenizer, or leave empty answers out of the data",
            )
        if len(continuation) > max_length:
            raise CallFailure(
                "bad_input",
                f"Cannot score an answer of {len(continuation)} tokens: the model reads "
                f"{max_length}",
            )
        whole = [*context, *continuation][-(max_length + 1) :]
        kept = tuple(whole[: -len(continuation)])
        found.setdefault(kept, []).append(Branch(number, tuple(continuation)))
    groups = [Group(context, tuple(branches)) for context, branches in found.items()]
    return sorted(groups, key=lambda group: (-group.length, group.branches[0].request))


def split_prefix(groups: Sequence[Group]) -> tuple[tuple[int, ...], list[Group]]:
    """The prefix that all contexts share, and the groups without it; every group keeps at least
    one token of its context. Empty where it would be too short to pay."""
    shortest = min(len(group.context) for group in groups)
    prefix = common_prefix([group.context for group in groups])[: shortest - 1]
    if len(groups) < 2 or len(prefix) < SHORTEST_PREFIX:
        return (), list(groups)
    return prefix, [Group(g.context[len(prefix) :], g.branches) for g in groups]


def common_prefix(contexts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """What all contexts begin with."""
    first, last = min(contexts), max(contexts)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    return first[:same]


def pack(groups: Sequence[Group], budget: int, offset: int = 0) -> list[PackedRow]:
    """Rows of at most `budget` tokens (a longer group has a row of its own), in the groups' order.
    `offset` is the position of a context's first token."""
    rows: list[list[Group]] = []
    used = 0
    for group in groups:
        if not rows or used + group.length > budget:
            rows.append([])
            used = 0
        rows[-1].append(group)
        used += group.length
    return [_row(members, offset) for members in rows]


def _row(groups: Sequence[Group], offset: int) -> PackedRow:
    row = PackedRow()
    keep: set[int] = set()
    for number, group in enumerate(groups):
        _append(row, group.context, offset, number, -1)
        last = len(row.tokens) - 1
        for index, branch in enumerate(group.branches):
            start = len(row.tokens)
            _append(row, branch.tokens[:-1], offset + len(group.context), number, index)
            places = [last, *range(start, len(row.tokens))]
            row.targets.append((branch.request, places, branch.tokens))
            keep.update(places)
    row.keep = sorted(keep)
    return row


def _append(row: PackedRow, tokens: Sequence[int], first: int, group: int, branch: int) -> None:
    row.tokens.extend(tokens)
    row.positions.extend(range(first, first + len(tokens)))
    row.group_of.extend([group] * len(tokens))
    row.branch_of.extend([branch] * len(tokens))


def attention(row: PackedRow, prefix: int = 0) -> np.ndarray:
    """Which place may look at which: the prefix, then its own context and branch up to itself."""
    group = np.asarray(row.group_of)
    branch = np.asarray(row.branch_of)
    place = np.arange(len(row.tokens))
    own = (group[:, None] == group[None, :]) & (place[:, None] >= place[None, :])
    own &= (branch[None, :] == -1) | (branch[:, None] == branch[None, :])
    return np.concatenate([np.ones((len(place), prefix), dtype=bool), own], axis=1)  # [T, P+T]
