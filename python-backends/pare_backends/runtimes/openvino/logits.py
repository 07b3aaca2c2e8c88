"""Logits of a graph with an artifact's own weights, for the proof."""

from __future__ import annotations

from pare_backends.runtimes.logits import (
    AskedLogits,
    RuntimeLogits,
    as_used,
    runtime_logits,
    sample_text,
)
from pare_backends.runtimes.openvino.compiled import (
    STRICT,
    Decoder,
    compile_graph,
    logits,
    standard_numerics,
)
from pare_backends.runtimes.openvino.graph_weights import build_model


def compute_logits(asked: AskedLogits, threads: int) -> RuntimeLogits:
    """`compute_logits` of runtimes/registry.py; a graph holds no weights, so one form is both."""
    graph = build_model(asked.form_dir, asked.artifact_dir)
    compiled = compile_graph(graph, STRICT, threads)
    tokens = sample_text(Decoder(compiled), asked.tokens, asked.seed)
    strict = logits(compiled, tokens)
    numerics = standard_numerics(graph, asked.precision)
    as_timed = compiled if numerics == STRICT else compile_graph(graph, numerics, threads)
    timed = as_used(Decoder(as_timed), tokens)
    return runtime_logits(tokens, strict, timed, numerics)
