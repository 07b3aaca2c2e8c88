"""OpenVINO GenAI's continuous batching over an artifact's own weights, one sequence at a time.

Imports `openvino`, `openvino_genai` and numpy alone. The pipeline turns the exported graph into
paged attention as it loads. It is asked by token ids and needs no tokenizer. Inference is float32,
and activations are as the artifact declares them; how keys and values are kept is the setting's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino_genai as genai
from openvino_genai import py_openvino_genai as inner

from pare_backends.failures import CallFailure, one_line
from pare_backends.runtimes.openvino_genai.setting import BLOCK_TOKENS, Params
from pare_backends.runtimes.session import Numerics

VERSION = f"openvino_genai {genai.__version__.split('-')[0]}"
MOST_BATCHED_TOKENS = 1 << 20
"""A prompt is read at once: read in parts, the library would time it as several steps."""


class Engine:
    """A pipeline with room for so many tokens."""

    def __init__(
        self, folder: Path, params: Params, activation_group: int, threads: int, tokens: int
    ) -> None:
        """folder: of openvino_model.xml, .bin and config.json; tokens: of prompt and answer"""
        self.numerics = Numerics("f32", params.kv_precision, activation_group)
        self.most_tokens = tokens
        properties = {
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "KV_CACHE_PRECISION": params.kv_precision,
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": activation_group,
        }
        # Blocks that are let go of are free a step later than others are asked for.
        self._blocks = math.ceil(tokens / BLOCK_TOKENS) + 2
        with naming_what_failed(params):
            self._pipeline = genai.ContinuousBatchingPipeline(
                str(folder), scheduler(params, self._blocks), "CPU", properties
            )
        self._params = params
        self._handle: Any = None
        self._asked = 0

    def begin(self, prompt: np.ndarray, repetition_penalty: float = 1.0) -> int:
        """Ends the sequence before, if there is one, and reads a prompt; the first new token.

        prompt: (n,) int64
        """
        self.end()
        if len(prompt) >= self.most_tokens:
            raise CallFailure(
                "bad_input",
                f"Cannot read {len(prompt)} tokens in openvino_genai: it was opened for"
                f" {self.most_tokens}, what is generated included",
            )
        config = genai.GenerationConfig()
        config.max_new_tokens = self.most_tokens - len(prompt)
        config.ignore_eos = True  # who asks knows where a text ends
        config.repetition_penalty = repetition_penalty
        self._asked += 1
        self._handle = self._pipeline.add_request(
            self._asked, openvino.Tensor(np.ascontiguousarray(prompt[None], np.int64)), config
        )
        return self.next()

    def next(self) -> int:
        """The next token; the pipeline feeds its own last one back."""
        with naming_what_failed(self._params):
            self._pipeline.step()
            if not self._handle.can_read():
                raise CallFailure(
                    "crash", "Cannot go on in openvino_genai: its pool of blocks is full"
                )
            (output,) = self._handle.read().values()
        return int(output.generated_ids[-1])

    def end(self) -> None:
        """Forgets the sequence, whose blocks go back to the pool."""
        if self._handle is None:
            return
        self._handle.cancel()
        while self._pipeline.has_non_finished_requests():
            self._pipeline.step()
        self._handle = None

    def cache_bytes(self) -> int:
        """Of the blocks that the sequence holds: the library's share of its pool."""
        metrics = self._pipeline.get_metrics()
        blocks = round(metrics.cache_usage / 100 * self._blocks)  # of a float32
        return metrics.kv_cache_size_in_bytes // self._blocks * blocks

    def prompt_log_probs(self, prompt: np.ndarray) -> np.ndarray:
        """Log-likelihood of each token but the first after those before it.

        prompt: (n,) int64; returns: (n - 1,) float32
        """
        self.end()
        config = genai.GenerationConfig()
        config.max_new_tokens, config.echo, config.logprobs = 1, True, 1
        self._asked += 1
        tokens = openvino.Tensor(np.ascontiguousarray(prompt[None], np.int64))
        handle = self._pipeline.add_request(self._asked, tokens, config)
        while self._pipeline.has_non_finished_requests():
            self._pipeline.step()
        (output,) = handle.read_all()
        return np.array(output.generated_log_probs[1 : len(prompt)], np.float32)

    def close(self) -> None:
        """Gives its memory back; it cannot be used again."""
        self.end()
        del self._pipeline


@contextmanager
def naming_what_failed(params: Params) -> Iterator[None]:
    """The library's own errors, as one sentence of this project's."""
    try:
        yield
    except RuntimeError as error:
        said = one_line(RuntimeError(re.sub(r" failed at \S+", " failed", str(error))))
        raise CallFailure("invalid", f"Cannot run {params.label()} in {VERSION}: {said}") from error


def scheduler(params: Params, blocks: int) -> Any:
    """How the pipeline keeps its cache: a pool of so many blocks, for one sequence."""
    made = genai.SchedulerConfig()
    made.num_kv_blocks = blocks
    made.max_num_seqs = 1
    made.max_num_batched_tokens = MOST_BATCHED_TOKENS
    made.dynamic_split_fuse = False
    made.enable_prefix_caching = False  # the same prompt comes again and is to be computed again
    if params.eviction != "none":
        made.use_cache_eviction = True
        made.cache_eviction_config = eviction(params)
    if params.sparse_prefill != "none":
        made.use_sparse_attention = True
        made.sparse_attention_config = genai.SparseAttentionConfig(
            mode=getattr(genai.SparseAttentionMode, params.sparse_prefill.upper()),
            num_last_dense_tokens_in_prefill=params.dense_tokens,
            num_retained_start_tokens_in_cache=params.seen_start,
            num_retained_recent_tokens_in_cache=params.seen_recent,
            xattention_threshold=params.threshold,
        )
    return made


def eviction(params: Params) -> Any:
    """The library's object of what is let go of."""
    crush = genai.KVCrushConfig(params.kvcrush_blocks) if params.kvcrush_blocks > 0 else None
    made = genai.CacheEvictionConfig(
        params.start_size,
        params.recent_size,
        params.max_cache_size,
        getattr(genai.AggregationMode, params.eviction.upper()),
        apply_rotation=params.rotation,
        snapkv_window_size=params.score_window,
        kvcrush_config=crush,
    )
    if params.eviction == "adaptive_rkv":
        made.adaptive_rkv_config = inner.AdaptiveRKVConfig()
    return made
