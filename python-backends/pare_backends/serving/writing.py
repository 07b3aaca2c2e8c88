"""How a text is read and written on: log-probabilities, choice of a token, where it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pare_backends.serving.reader import Served

UNFINISHED = "\ufffd"
"""What stands for the bytes of a letter whose rest is still to come."""


@dataclass(frozen=True)
class Decoding:
    """How a token is chosen, and when to end."""

    longest: int
    """Tokens at most."""
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    """The model's own end of a text is a token like others: for a load of known length."""
    best: int = 0
    """Best tokens that are told beside each one."""


@dataclass(frozen=True)
class Likelihood:
    """A token at its place."""

    token: int
    value: float | None
    """Nats; None: the first of a text, which nothing stands before."""
    best: list[tuple[int, float]]
    """The best tokens at the place with their nats, the best first."""


@dataclass
class Written:
    """What came of a prompt. `text` and `tokens` grow while it is written."""

    text: str = ""
    tokens: list[Likelihood] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    """Where in `text` each token's own part begins."""
    finish: str | None = None
    """"stop" or "length"; None: it is still being written, or whoever asked has gone."""


def likelihoods(served: Served, tokens: Sequence[int], best: int) -> tuple[list[Likelihood], Any]:
    """Every token of a text with its log-probability, and the logits after the last: (V,)"""
    logits = served.reader.whole(np.array(tokens, np.int64))
    found = [Likelihood(tokens[0], None, [])]
    for place in range(1, len(tokens)):
        found.append(_likelihood(log_softmax(logits[place - 1]), tokens[place], best))
    return found, logits[-1]


def write(
    served: Served,
    prompt: Sequence[int],
    decoding: Decoding,
    after: np.ndarray | None,
    gone: Callable[[], bool],
) -> Iterator[Written]:
    """Writes on after a prompt; what there is so far, after each part that is sure.

    after: (V,) logits after the prompt, where it was read already; gone: whether nobody waits

    The text is that of the new tokens alone, as an evaluation of the artifact decodes them.
    """
    written, random = Written(), np.random.default_rng(decoding.seed)
    text = _Text(served.tokenizer, decoding.stop)
    sequence = list(prompt)
    logits = served.reader.begin(np.array(prompt, np.int64)) if after is None else after
    begun = after is None
    while written.finish is None and not gone():
        if len(written.tokens) == decoding.longest:
            written.finish = "length"
            break
        found = log_softmax(logits)
        token = _choose(_penalized(served, logits, sequence), decoding, random)
        if token in served.ends and not decoding.ignore_eos:
            written.finish = "stop"
            break
        written.tokens.append(_likelihood(found, token, decoding.best))
        written.places.append(len(text.sure))
        sequence.append(token)
        if text.add(token):
            written.finish = "stop"
        if written.finish is None and text.sure != written.text:
            written.text = text.sure
            yield written
        if written.finish is None and len(written.tokens) < decoding.longest:
            # A text that was read whole is begun again where more than one token follows.
            new = sequence[-1:] if begun else sequence
            step = served.reader.extend if begun else served.reader.begin
            logits, begun = step(np.array(new, np.int64)), True
    if written.finish is not None:
        written.text = text.all()
    yield written


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Nats of every token. logits: (V,) float32; returns: (V,) float64. Raises `FloatingPointError`
    where they are no numbers."""
    wide = logits.astype(np.float64)
    if not np.isfinite(wide.max()):
        raise FloatingPointError("the model's logits are no numbers")
    wide -= wide.max()
    found: np.ndarray = wide - np.log(np.exp(wide).sum())
    return found


def _likelihood(found: np.ndarray, token: int, best: int) -> Likelihood:
    top: list[tuple[int, float]] = []
    if best > 0:
        some = np.argpartition(-found, min(best, len(found) - 1))[:best]
        order = some[np.argsort(-found[some], kind="stable")]
        top = [(int(one), float(found[one])) for one in order]
    return Likelihood(token, float(found[token]), top)


def _penalized(served: Served, logits: np.ndarray, sequence: Sequence[int]) -> np.ndarray:
    """As transformers penalizes tokens that the text has already."""
    penalty = served.repetition_penalty
    if penalty == 1.0:
        return logits
    seen, changed = np.unique(np.array(sequence)), logits.copy()
    changed[seen] = np.where(logits[seen] < 0, logits[seen] * penalty, logits[seen] / penalty)
    return changed


def _choose(logits: np.ndarray, decoding: Decoding, random: np.random.Generator) -> int:
    if decoding.temperature == 0.0:
        return int(logits.argmax())
    likely = np.exp(log_softmax(logits / np.float32(decoding.temperature)))
    order = np.argsort(-likely, kind="stable")
    # The first token that passes top_p is taken along: there is always one.
    count = int(np.searchsorted(np.cumsum(likely[order]), decoding.top_p)) + 1
    kept = order[:count]
    shares = likely[kept] / likely[kept].sum()
    return int(random.choice(kept, p=shares))


class _Text:
    """The text of tokens as they come: only what no later token changes, and nothing of a stop."""

    def __init__(self, tokenizer: Any, stop: tuple[str, ...]) -> None:
        self._tokenizer, self._stop = tokenizer, stop
        self._tokens: list[int] = []
        self._read, self._start = 0, 0
        self._text = ""
        self.sure = ""
        """What may be said already."""

    def add(self, token: int) -> bool:
        """Takes a token; whether a stop came with it."""
        self._tokens.append(token)
        before = self._decoded(self._tokens[self._start : self._read])
        now = self._decoded(self._tokens[self._start :])
        if len(now) > len(before) and not now.endswith(UNFINISHED):
            self._text += now[len(before) :]
            self._start, self._read = self._read, len(self._tokens)
        found = [at for at in (self._text.find(one) for one in self._stop) if at >= 0]
        self.sure = self._text[: min(found, default=self._safe())]
        return bool(found)

    def _safe(self) -> int:
        """Letters that begin no stop."""
        most = max((len(one) - 1 for one in self._stop), default=0)
        for length in range(min(most, len(self._text)), 0, -1):
            if any(one.startswith(self._text[-length:]) for one in self._stop):
                return len(self._text) - length
        return len(self._text)

    def all(self) -> str:
        """The whole text up to a stop, as an evaluation decodes it: all its tokens at once."""
        text = self._decoded(self._tokens)
        return text[: min((at for one in self._stop if (at := text.find(one)) >= 0), default=None)]

    def _decoded(self, tokens: list[int]) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))
