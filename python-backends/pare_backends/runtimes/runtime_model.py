"""A runtime in the place of a torch model, for lm-eval and the perplexity loop.

So a benchmark is scored by the very computation that is timed. Letters: B sequences, T tokens.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import LogitsProcessorList, RepetitionPenaltyLogitsProcessor

from pare_backends.checkpoint.empty_model import load_config
from pare_backends.checkpoint.generation_settings import (
    generation_settings,
    ids_of,
    listed,
    said_settings,
)
from pare_backends.failures import CallFailure


@dataclass(frozen=True)
class Output:
    """What a model's call gives back."""

    logits: torch.Tensor  # (B, T, vocabulary) float32


class RuntimeModel(ABC):
    """What lm-eval's HFLM asks of a model: logits of whole sequences, and greedy search."""

    device = torch.device("cpu")
    dtype = torch.float32
    largest_batch: int
    """Sequences that it takes at once, at most."""

    def __init__(self, name: str, artifact_dir: str, numerics: dict[str, Any]) -> None:
        self.name = name
        self.numerics = numerics
        """Those that its speed is measured with."""
        self.config = load_config(artifact_dir)
        self.generation_config = generation_settings(artifact_dir)
        self._extent = 0
        """Tokens of the one sequence that `begin` began."""

    def __call__(self, input_ids: torch.Tensor) -> Output:
        return self.forward(input_ids)

    @abstractmethod
    def forward(self, input_ids: torch.Tensor) -> Output:
        """Logits of sequences that may be padded on the right: no token looks ahead."""

    @abstractmethod
    def _forget(self) -> None:
        """The next tokens begin new sequences."""

    @abstractmethod
    def _append(self, tokens: np.ndarray, mask: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Appends tokens to the sequences; the logits of the last.

        tokens: (B, T) int64; mask: (B, all tokens so far), 0 on padding; places: (B, T) positions
        returns: (B, vocabulary) float32
        """

    def begin(self, tokens: np.ndarray) -> np.ndarray:
        """Begins one sequence anew with these tokens (T,) int64; the logits of the last.

        returns: (vocabulary,) float32
        """
        self._forget()
        self._extent = 0
        return self.extend(tokens)

    def extend(self, tokens: np.ndarray) -> np.ndarray:
        """Appends tokens (T,) int64 to the sequence that was begun; the logits of the last.

        returns: (vocabulary,) float32
        """
        start, end = self._extent, self._extent + len(tokens)
        mask, places = np.ones((1, end), np.int64), np.arange(start, end, dtype=np.int64)
        found = self._append(tokens[None], mask, places[None])
        self._extent = end
        return found[0]

    def _own_processors(self) -> list[Any]:
        """What the model's own settings do to the logits of a greedy search."""
        said = said_settings(self.generation_config)
        penalty = said.pop("repetition_penalty", None)
        if said:
            raise CallFailure(
                "bad_input",
                f"Cannot generate in {self.name}: the model's generation_config.json says"
                f" {listed(said)}, and only greedy search with a repetition_penalty is made",
                hint="Take it out of that file, or measure by transformers",
            )
        return [] if penalty is None else [RepetitionPenaltyLogitsProcessor(float(penalty))]

    def generate(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        max_length: int,
        stopping_criteria: Any,
        pad_token_id: int,
        logits_processor: Any,
        do_sample: bool = False,
        **_: Any,
    ) -> torch.Tensor:
        """Greedy continuations of prompts padded on the left, until all have ended, as
        transformers' own `generate` gives them. returns: (B, tokens) int64"""
        if do_sample:
            raise CallFailure(
                "bad_input", f"Cannot sample in {self.name}: only greedy search is made"
            )
        chosen: Any = LogitsProcessorList([*logits_processor, *self._own_processors()])
        ids, mask = input_ids.numpy(), attention_mask.numpy()
        places = np.maximum(mask.cumsum(axis=1) - 1, 0)
        ends = list(ids_of(self.generation_config.eos_token_id))
        ended = np.zeros(len(ids), bool)
        tokens = ids
        self._forget()
        while ids.shape[1] < max_length:
            scores = torch.from_numpy(self._append(tokens, mask, places))
            best = chosen(torch.from_numpy(ids), scores).argmax(dim=-1).numpy()
            best = np.where(ended, pad_token_id, best)
            ids = np.concatenate([ids, best[:, None]], axis=1)
            mask = np.concatenate([mask, np.ones_like(mask[:, :1])], axis=1)
            tokens, places = best[:, None], places[:, -1:] + 1
            ended |= np.isin(best, ends)
            if ended.all() or bool(
                torch.as_tensor(stopping_criteria(torch.from_numpy(ids), None)).all()
            ):
                break
        return torch.from_numpy(ids)
