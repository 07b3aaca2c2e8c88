"""KL of one compressed model after another from the original's, on the same held-out windows.

The first line of standard input is {"original": directory, "text": .jsonl file of {"text"},
"windows": n, "tokens": T}, each further one a model's directory as a JSON text. Answers each with a
line on standard output: {"kl": [KL of each window, nats a token]}. The original's
log-probabilities stay in memory: n * T * vocabulary * 4 bytes.
"""

from __future__ import annotations

import contextlib
import json
import sys

import torch
from heldout_kl import log_probabilities, windows_of

from pare_backends.checkpoint.load import load_dequantized


def divergence(directory: str, windows: torch.Tensor, expected: list[torch.Tensor]) -> list[float]:
    """returns: KL(original || model) of each window, nats a token"""
    model, _ = load_dequantized(directory)
    found = []
    for window, given in zip(windows, expected, strict=True):
        difference = given - log_probabilities(model, window)
        found.append(float((given.exp() * difference).sum(-1).mean()))
    return found


def main() -> None:
    answers = sys.stdout
    torch.set_num_threads(1)
    # What libraries print is no answer.
    with contextlib.redirect_stdout(sys.stderr):
        asked = json.loads(sys.stdin.readline())
        model, tokenizer = load_dequantized(asked["original"])
        windows = windows_of(tokenizer, asked["text"], asked["windows"], asked["tokens"])
        expected = [log_probabilities(model, window) for window in windows]
        del model
        for line in sys.stdin:
            kl = divergence(json.loads(line), windows, expected)
            answers.write(json.dumps({"kl": kl}) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
