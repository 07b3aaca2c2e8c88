"""Logits of a GGUF file and of one of the same weights as float32, for the proof."""

from __future__ import annotations

from contextlib import closing

from pare_backends.runtimes.llama_cpp.decoder import AS_TIMED, STRICT, LlamaCppDecoder
from pare_backends.runtimes.llama_cpp.gguf_directory import described_numerics
from pare_backends.runtimes.logits import (
    AskedLogits,
    RuntimeLogits,
    as_used,
    runtime_logits,
    sample_text,
    step_by_step,
)


def compute_logits(asked: AskedLogits, threads: int) -> RuntimeLogits:
    """`compute_logits` of runtimes/registry.py; the text is sampled in the file that is timed."""
    with closing(LlamaCppDecoder(asked.form_dir, threads)) as own:
        tokens = sample_text(own, asked.tokens, asked.seed)
        timed = as_used(own, tokens)
    with closing(LlamaCppDecoder(asked.exact_form_dir, threads, params=STRICT)) as exact:
        strict = step_by_step(exact, tokens)
    return runtime_logits(tokens, strict, timed, described_numerics(asked.form_dir, AS_TIMED))
