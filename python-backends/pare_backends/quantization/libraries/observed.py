"""llm-compressor's GPTQ for layers that its trace of a model does not name."""

from __future__ import annotations

from typing import Any

from llmcompressor.modifiers.gptq import GPTQModifier as Traced


class GPTQModifier(Traced):
    """Functions of a model that cannot be traced are run whole. A layer called in one, such as
    `per_layer_model_projection` of Gemma 3n and 4, is then among those whose inputs were seen and
    not among those of the traced part, whose weights alone are looked at: it ends in an assertion
    (llm-compressor, modifiers/gptq/base.py). Here the weights of both are."""

    def on_sequential_epoch_end(
        self, state: Any, event: Any, modules: list[Any], **named: Any
    ) -> None:
        """As llm-compressor's. modules: of the traced part that was run"""
        both = dict.fromkeys([*modules, *self._num_samples])
        super().on_sequential_epoch_end(state, event, list(both), **named)
