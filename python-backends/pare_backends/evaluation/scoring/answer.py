"""What a model said to a sample, and what a scorer makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Obtained = Literal["asked", "mended", "asked_again", "rule"]
"""How a score of a judge was come by: read as it was asked for, mended once, asked for again by a
shorter prompt, or by the task's own rule as nothing could be read."""
OWN = "own"
"""The first metric that a scorer declares, whatever a task calls it."""


@dataclass(frozen=True)
class Answer:
    """All that a scorer is shown of what a model said to one sample."""

    texts: tuple[str, ...] = ()
    """What it wrote, each answer that was drawn; none where it was not asked to write."""
    likelihoods: tuple[float, ...] = ()
    """Nats, of each given text in order, such as the choices; of a window of the whole."""
    greedy: tuple[bool, ...] | None = None
    """Whether it would have written each of them by itself; None: not kept."""
    tokens: int | None = None
    """Tokens of a window that were predicted."""
    loss: float | None = None
    """Of a window: mean negative log-likelihood of a token, nats."""

    @property
    def text(self) -> str:
        """What it wrote, the first of several answers; empty where it wrote nothing."""
        return self.texts[0] if self.texts else ""


@dataclass(frozen=True)
class Verdict:
    """What a judge said to one question about an answer."""

    question: str
    """What was asked, such as truth."""
    judge: str
    """The model, as its server names it."""
    verdict: str | None
    """What was read from its words; None: nothing."""
    score: float | None
    reply: str | None
    """Its own words."""
    prompt_hash: str | None = None
    """Of the prompts that it was asked by."""
    rubric_version: str | None = None
    prompt_tokens: int | None = None
    """None: its server does not say."""
    reply_tokens: int | None = None
    cost: float | None = None
    """US dollars; None: nobody counts."""
    obtained: Obtained | None = None
    """None: of a judge that is asked for a word."""
    cut_characters: int | None = None
    """Of question, reference and answer, as the judge was shown them."""


@dataclass(frozen=True)
class Score:
    """What a scorer gives a sample."""

    values: Mapping[str, float]
    """By metric, `OWN` for the scorer's own. One that cannot be told is left out, and `why` says
    the reason."""
    parsed: str | None = None
    """What was read from the answer; None: nothing."""
    gold: str | None = None
    """The right answer as it was compared; None: as the task has it."""
    why: str | None = None
    verdicts: tuple[Verdict, ...] = field(default=())
    shown: str | None = None
    """The answer with what was found of it, where that is more than its text."""
