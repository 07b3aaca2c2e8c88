"""Logits of a GGUF file and of one of the same weights as float32, for the proof."""

from __future__ import annotations

from pare_backends.runtimes.ik_llama_cpp.decoder import STRICT, IkLlamaCppDecoder
from pare_backends.runtimes.ik_llama_cpp.numerics import numerics_as_timed
from pare_backends.runtimes.logits import AskedLogits, RuntimeLogits, two_files_logits


def compute_logits(asked: AskedLogits, threads: int) -> RuntimeLogits:
    """`compute_logits` of runtimes/registry.py."""
    return two_files_logits(
        asked,
        numerics_as_timed(asked.form_dir),
        lambda: IkLlamaCppDecoder(asked.form_dir, threads),
        lambda: IkLlamaCppDecoder(asked.exact_form_dir, threads, STRICT),
    )
