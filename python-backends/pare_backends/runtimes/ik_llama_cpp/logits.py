"""Logits of a GGUF file and of one of the same weights as float32, for the proof."""

from __future__ import annotations

from contextlib import closing

from pare_backends.runtimes.ik_llama_cpp.decoder import STRICT, IkLlamaCppDecoder
from pare_backends.runtimes.ik_llama_cpp.numerics import numerics_as_timed
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
    with closing(IkLlamaCppDecoder(asked.form_dir, threads)) as own:
        tokens = sample_text(own, asked.tokens, asked.seed)
        timed = as_used(own, tokens)
    with closing(IkLlamaCppDecoder(asked.exact_form_dir, threads, STRICT)) as exact:
        strict = step_by_step(exact, tokens)
    return runtime_logits(tokens, strict, timed, numerics_as_timed(asked.form_dir))
