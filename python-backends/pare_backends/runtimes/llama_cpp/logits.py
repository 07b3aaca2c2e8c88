"""Logits of a GGUF file and of one of the same weights as float32, for the proof."""

from __future__ import annotations

from pare_backends.runtimes.llama_cpp.decoder import AS_TIMED, STRICT, LlamaCppDecoder
from pare_backends.runtimes.llama_cpp.gguf_directory import described_numerics
from pare_backends.runtimes.logits import AskedLogits, RuntimeLogits, two_files_logits


def compute_logits(asked: AskedLogits, threads: int) -> RuntimeLogits:
    """`compute_logits` of runtimes/registry.py."""
    return two_files_logits(
        asked,
        described_numerics(asked.form_dir, AS_TIMED),
        lambda: LlamaCppDecoder(asked.form_dir, threads),
        lambda: LlamaCppDecoder(asked.exact_form_dir, threads, params=STRICT),
    )
