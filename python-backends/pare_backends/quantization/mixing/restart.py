"""A model run from one of its blocks on: what the blocks before it give is taken from one pass.

Scoring a layer alone in a format changes nothing before its block. The blocks run where the model's
own forward pass runs them, with the masks and positions that it gives them, so nothing of an
architecture is assumed but that the blocks stand in one list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pare_backends.failures import CallFailure
from pare_backends.quantization.libraries.shared_keys import SHARED

if TYPE_CHECKING:
    import torch

CHUNK_TOKENS = 64
"""Tokens whose distributions are compared at a time, in float64: 2 · 25 MB of 49,152 words."""


class Stopped(Exception):
    """The pass has gone as far as it was to go."""


class RestartableModel:
    """The model, and what its blocks and itself gave for each window as it stood.

    Memory: the outputs of every block and, where they are kept, the logits, float32: windows ·
    tokens · (blocks · hidden + vocabulary) · 4 bytes, 68 MB of SmolLM2-135M on 256 tokens.
    """

    def __init__(
        self, model: Any, blocks: Sequence[str], windows: torch.Tensor, keeps_logits: bool
    ) -> None:
        """blocks: their modules in the order in which they run; windows: (windows, tokens) int64"""
        self.keeps_logits = keeps_logits
        self.model, self.blocks, self.windows = model, list(blocks), windows
        self.outputs: list[list[Any]] = []
        self.logits: list[torch.Tensor] = []  # (tokens, vocabulary) of each window
        self._window, self._start, self._stop = 0, 0, len(self.blocks)
        self._kept: list[Any] | None = None
        self._shared: list[dict[int, Any]] = []  # of each window, where blocks share keys

    @contextmanager
    def running(self) -> Iterator[None]:
        """Within, the model may be run from any block on; the first pass is made here.

        raises: CallFailure "invalid" where the model does not run the blocks in their order
        """
        import torch

        modules = [self.model.get_submodule(name) for name in self.blocks]
        with torch.no_grad():
            for number, module in enumerate(modules):
                module.forward = self._forward(number, module.forward)
            try:
                for window in range(len(self.windows)):
                    self._kept = []
                    self._shared.append({})
                    logits = self._pass(window)
                    self.logits += [logits] if self.keeps_logits else []
                    self.outputs.append(self._kept)
                    if len(self._kept) != len(self.blocks):
                        raise CallFailure(
                            "invalid",
                            f"Cannot score layers: the model runs {len(self._kept)} of its"
                            f" {len(self.blocks)} blocks on text",
                        )
                self._kept = None
                yield
            finally:
                for module in modules:
                    del module.forward  # the class's own again

    def run(self, window: int, start: int = 0) -> torch.Tensor:
        """The logits of a window with the weights as they are now, which from block `start` on may
        be others than those of the first pass. start: the blocks' number = the head alone

        returns: (tokens, vocabulary) float32
        """
        self._start, self._stop = start, len(self.blocks)
        return self._pass(window)

    def run_block(self, window: int, number: int) -> None:
        """Runs one block alone: for hooks that look at what its layers are given."""
        self._start, self._stop = number, number
        try:
            self._pass(window)
        except Stopped:
            return
        finally:
            self._start, self._stop = 0, len(self.blocks)

    def _pass(self, window: int) -> torch.Tensor:
        self._window = window
        ids = self.windows[window : window + 1]
        logits: torch.Tensor = self.model(input_ids=ids, use_cache=False).logits[0].float()
        return logits

    def _forward(self, number: int, original: Callable[..., Any]) -> Callable[..., Any]:
        def forward(*arguments: Any, **given: Any) -> Any:
            if self._kept is not None:
                made = original(*arguments, **given)
                if len(self._kept) == number:
                    self._kept.append(made)
                self._shared[self._window].update(given.get(SHARED) or {})
                return made
            if number < self._start:
                return self.outputs[self._window][number]
            if number == self._start and SHARED in given:
                given[SHARED].update(self._shared[self._window])
            made = original(*arguments, **given)
            if number == self._stop:
                raise Stopped
            return made

        return forward


def divergence(truth: torch.Tensor, guess: torch.Tensor) -> torch.Tensor:
    """KL divergence of the guessed distribution from the true one, for each token.

    truth, guess: (tokens, vocabulary) logits; returns: (tokens,) float64, in nats
    """
    import torch

    parts = []
    for start in range(0, len(truth), CHUNK_TOKENS):
        p = truth[start : start + CHUNK_TOKENS].double().log_softmax(-1)
        q = guess[start : start + CHUNK_TOKENS].double().log_softmax(-1)
        parts.append((p.exp() * (p - q)).sum(-1))
    return torch.cat(parts)
