"""The proof's half for openvino_genai: the library gives no logits, but the likelihood of a text.

So the logits are those of the very graph that it loads, run as `openvino` runs it, and the library
must find every token of their text as likely as they do, before anything is compared with them.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from pare_backends.failures import CallFailure
from pare_backends.runtimes.logits import AskedLogits, RuntimeLogits
from pare_backends.runtimes.openvino.logits import compute_logits as graph_logits
from pare_backends.runtimes.openvino_genai.engine import VERSION, Engine
from pare_backends.runtimes.openvino_genai.graph_folder import write_folder
from pare_backends.runtimes.openvino_genai.session import STRICT

MOST_NATS = 1e-3
"""Between the library's log-likelihood of a token and the graph's: a wrong layer is far more."""


def compute_logits(asked: AskedLogits, threads: int) -> RuntimeLogits:
    """`compute_logits` of runtimes/registry.py."""
    found = graph_logits(asked, threads)
    with TemporaryDirectory(prefix="pare-genai-") as folder:
        write_folder(asked.form_dir, asked.artifact_dir, Path(folder))
        engine = Engine(Path(folder), STRICT, 0, threads, len(found.tokens) + 1)
        own = engine.prompt_log_probs(found.tokens)
        engine.close()
    apart = np.abs(own - text_log_probs(found.strict, found.tokens)).max()
    if not apart <= MOST_NATS:
        raise CallFailure(
            "verification",
            f"Cannot prove {asked.artifact_dir} in {VERSION}: a token is {apart:.2g} nats from what"
            f" its graph gives, more than {MOST_NATS:g}",
            "measure it in the runtime openvino",
        )
    return found


def text_log_probs(logits: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Log-likelihood of each token but the first. logits: (n, vocabulary); returns: (n - 1,)"""
    top = logits.max(axis=1, keepdims=True)
    rows = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    found: np.ndarray = rows[np.arange(len(tokens) - 1), tokens[1:]]
    return found
