"""KL of each model's next-token distribution from the original's, on windows of held-out text.

Reads a request as JSON from standard input: {"original": directory, "models": {name: directory},
"text": .jsonl file of {"text"}, "windows": n, "tokens": T}; writes {name: [KL of each window, nats a
token]} to standard output. One model is in memory at a time; the original's log-probabilities
of all windows are kept, float32.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch

from pare_backends.checkpoint.load import load_dequantized


def windows_of(tokenizer: Any, path: str, count: int, tokens: int) -> torch.Tensor:
    """The first windows of the file's texts, one after the other. returns: (count, tokens) int64"""
    texts = [json.loads(line)["text"] for line in Path(path).read_text("utf8").splitlines()]
    ids = tokenizer("\n\n".join(texts), add_special_tokens=False)["input_ids"]
    most = len(ids) // tokens
    if most < count:
        raise SystemExit(f"Cannot take {count} windows of {tokens} tokens: the text has {most}")
    return torch.tensor(ids[: count * tokens]).view(count, tokens)


def log_probabilities(model: Any, window: torch.Tensor) -> torch.Tensor:
    """returns: (tokens, vocabulary) float32"""
    with torch.inference_mode():
        logits = model(input_ids=window.unsqueeze(0), use_cache=False).logits[0]
        return torch.log_softmax(logits.float(), -1)


def main() -> None:
    asked = json.load(sys.stdin)
    model, tokenizer = load_dequantized(asked["original"])
    windows = windows_of(tokenizer, asked["text"], asked["windows"], asked["tokens"])
    original = [log_probabilities(model, window) for window in windows]
    found: dict[str, list[float]] = {}
    for name, directory in asked["models"].items():
        model, _ = load_dequantized(directory)
        found[name] = []
        for window, expected in zip(windows, original, strict=True):
            given = log_probabilities(model, window)
            kl = (expected.exp() * (expected - given)).sum(-1).mean()
            found[name].append(float(kl))
        print(f"{name}: {sum(found[name]) / len(found[name]):.4f}", file=sys.stderr)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
