"""Runtime `vllm`: the written checkpoint on a GPU, by vLLM's own engine in this process.

Never run by its authors: no machine with a GPU and vLLM was at hand. vLLM reads compressed-tensors
itself. Each step of its engine gives the one sequence a token, so prompt and continuation are timed
apart as in every other runtime.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from pare_backends.checkpoint.forms import own_forms
from pare_backends.failures import CallFailure
from pare_backends.runtimes.session import Numerics
from pare_backends.runtimes.stored_weights import StoredWeights

CONTEXT_TOKENS = 1024
GPU_SHARE = 0.4
"""Of the GPU's memory that must be free for one model: two are loaded in turn."""
CACHE_CONTEXTS = 2
"""Contexts that the KV cache has room for: vLLM keeps blocks of it back. Left to itself it would
take all of its share, which would then be the model's peak memory."""


class VllmSession:
    """`Session` of runtimes/session.py."""

    device = "cuda"
    provenance = "measured"
    imports_torch = True

    def __init__(self, artifact_dir: str) -> None:
        # The engine in this process: its memory is the process's, and nothing of it is left behind.
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        import torch
        import vllm

        if not torch.cuda.is_available():
            raise CallFailure("invalid", "Cannot run vllm: torch finds no CUDA GPU")
        self._torch, self._vllm = torch, vllm
        self.weights_dir = artifact_dir
        weights = StoredWeights(artifact_dir)
        forms = own_forms(weights.config)
        if forms:
            raise CallFailure(
                "invalid", f"Cannot run vllm: it reads no weights that are stored as {forms[0]}"
            )
        self._context = min(CONTEXT_TOKENS, int(weights.config["max_position_embeddings"]))
        self._engine = vllm.LLM(
            model=artifact_dir,
            dtype=kept_type(weights.config),
            max_model_len=self._context,
            max_num_seqs=1,
            gpu_memory_utilization=GPU_SHARE,
            kv_cache_memory_bytes=cache_bytes(weights.config, CACHE_CONTEXTS * self._context),
            enable_prefix_caching=False,  # the same prompt comes again and is to be computed again
            skip_tokenizer_init=True,
            disable_log_stats=True,
        ).llm_engine
        short = "bf16" if kept_type(weights.config) == "bfloat16" else "f16"
        self.numerics = Numerics(short, short, 0)
        self.bytes_read_per_token = stored_bytes(weights)
        self.notes: tuple[str, ...] = (f"vllm {vllm.__version__}",)
        self._request = 0
        self._tokens: list[int] = []

    def prefill(self, tokens: np.ndarray) -> int:
        """Ends the sequence before, if there is one, and starts another."""
        if self._request > 0:
            self._engine.abort_request([str(self._request)])
        self._request += 1
        self._tokens = []
        limit = self._context - len(tokens)
        options = self._vllm.SamplingParams(
            temperature=0, max_tokens=limit, ignore_eos=True, detokenize=False
        )
        prompt = {"prompt_token_ids": tokens.tolist()}
        self._engine.add_request(str(self._request), prompt, options)
        return self._next()

    def decode(self, token: int) -> int:
        """The engine feeds its own last token back, which is the one given."""
        return self._next()

    def _next(self) -> int:
        known = len(self._tokens)
        while len(self._tokens) == known:
            if not self._engine.has_unfinished_requests():
                raise CallFailure("crash", f"Cannot go on after {known} tokens: vllm has ended")
            for output in self._engine.step():
                self._tokens = list(output.outputs[0].token_ids)
        return int(self._tokens[known])

    def gpu_peak_bytes(self) -> int | None:
        return int(self._torch.cuda.max_memory_allocated())


def kept_type(config: Mapping[str, Any]) -> str:
    """The 16-bit type that it computes in: a model in bfloat16 may pass what float16 can hold."""
    return "bfloat16" if config.get("dtype") == "bfloat16" else "float16"


def cache_bytes(config: Mapping[str, Any], tokens: int) -> int:
    """Bytes of the keys and values of so many tokens in 16 bits. config: of config.json"""
    heads = int(config["num_attention_heads"])
    width = int(config.get("head_dim") or config["hidden_size"] // heads)
    kept = int(config.get("num_key_value_heads") or heads) * width
    return int(config["num_hidden_layers"]) * 2 * kept * 2 * tokens


def stored_bytes(weights: StoredWeights) -> int:
    """Bytes that a token reads: every weight as it is stored, and a row of the embedding."""
    total = 0
    for name in weights.names():
        if weights.is_packed(name):
            total += weights.packed(name).bytes_read
            continue
        values = weights.floats(name)
        rows = 1 if "embed_tokens" in name and weights.has("lm_head.weight") else len(values)
        total += values.size // len(values) * rows * 2  # 16 bits, as dtype says
    return total


def open_session(artifact_dir: str, form_dir: None, threads: int) -> VllmSession:
    """Loads a checkpoint on the GPU; vLLM compiles and captures graphs for a minute first."""
    return VllmSession(artifact_dir)
