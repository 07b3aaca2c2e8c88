"""What it saves to read a prompt once for many cache policies.

`PYTHON tests/benchmarks/caches/bench_caches.py MODEL_DIR TEXT_FILE [--tokens 1024] [--texts 1]`, run in
python-backends with the default environment's interpreter. Of each text: the full cache alone, then
every method at budgets of 1/16 to 1/2 of the prompt from one reading of it, then one by one. Each
answers 48 tokens that are given to it. Prints seconds, ratios, and whether both ways said the same.
"""

from __future__ import annotations

import argparse
import importlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pare_backends.cache.attach import KeepsAll, attach_policy, gathered_policies, running_with
from pare_backends.cache.reading import follow, read_context, read_contexts
from pare_backends.checkpoint import load_dequantized
from pare_backends.checkpoint.setting import PACKAGE, methods_in
from pare_backends.knobs import build_params, declaration

ANSWER = 48
PARTS = (16, 8, 4, 2)


@dataclass(frozen=True)
class Cell:
    """A method at a budget."""

    name: str
    policy: Any
    steps: bool
    """It chooses after each later token, so that these are read one by one."""


def cells(model: Any, tokens: int) -> list[Cell]:
    """Every method that decides after the prompt and has a budget, at every budget."""
    found = []
    for name in methods_in(PACKAGE / "kv_cache"):
        module = importlib.import_module(f"pare_backends.kv_cache.{name}")
        knobs = {one: knob.default for one, knob in declaration(module.Params).items()}
        if "budget" not in knobs:
            continue
        for part in PARTS:
            values = {**knobs, "budget": tokens // part}
            if "window" in values and values["window"] >= values["budget"]:
                values["window"] = values["budget"] // 4
            with gathered_policies() as policies:
                module.attach(model, build_params(module.Params, values))
            steps = policies[0].when != "after_prompt"
            found.append(Cell(f"{name} {tokens // part}", policies[0], steps))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--texts", type=int, default=1)
    asked = parser.parse_args()
    model, tokenizer = load_dequantized(Path(asked.model))
    attach_policy(model, KeepsAll())
    all_tokens = tokenizer.encode(Path(asked.text).read_text("utf-8"))
    every = cells(model, asked.tokens)
    size = asked.tokens + ANSWER
    totals = {"full": 0.0, "shared": 0.0, "of it answers": 0.0, "one by one": 0.0}
    worst = 0.0
    with torch.no_grad():
        read_context(model, torch.tensor([all_tokens[:64]]))  # the first pass warms up
        for text in range(asked.texts):
            window = torch.tensor([all_tokens[text * size : (text + 1) * size]])
            prompt, answer = window[:, : asked.tokens], window[:, asked.tokens :]
            started = time.perf_counter()
            follow(model, read_context(model, prompt), answer)
            totals["full"] += time.perf_counter() - started
            started = time.perf_counter()
            caches = read_contexts(model, [one.policy for one in every], prompt)
            read = time.perf_counter()
            together = []
            for cell, cache in zip(every, caches, strict=True):
                with running_with(model, cell.policy):
                    together.append(follow(model, cache, answer))
            totals["of it answers"] += time.perf_counter() - read
            totals["shared"] += time.perf_counter() - started
            started = time.perf_counter()
            for cell, said in zip(every, together, strict=True):
                with running_with(model, cell.policy):
                    alone = follow(model, read_context(model, prompt), answer)
                worst = max(worst, float((alone - said).abs().max()))
            totals["one by one"] += time.perf_counter() - started
    print(
        f"{len(every)} cells, {sum(c.steps for c in every)} of which answer token by token;",
        end=" ",
    )
    print(f"{asked.texts} texts of {asked.tokens} tokens; logits differ by at most {worst:.3g}")
    for name, seconds in totals.items():
        print(f"{name:14} {seconds:8.2f} s  {seconds / totals['full']:6.2f} times the full cache")


if __name__ == "__main__":
    main()
