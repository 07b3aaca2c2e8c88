"""What each cache policy loses on one model, all of them from one reading of each prompt.

Reads one JSON object: `model_dir`, `text` (JSON lines with `text`), `lengths`, `prompts` and
`texts` of each length, `shares`, `timed` lengths, `threads`, `presses` (the interpreter of
kvpress's environment, or null). Prints one with `cells` and `times`. Run by bench_caches.ts.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from pare_backends.cache.attach import KeepsAll, attach_policy, gathered_policies, running_with
from pare_backends.cache.kept import kept_bytes, kept_tokens
from pare_backends.cache.policy import ByScores, Seen
from pare_backends.cache.reading import follow, read_context, read_contexts
from pare_backends.checkpoint.load import load_dequantized
from pare_backends.evaluation.ruler.make import ruler_rows

METHODS = ["snapkv", "pyramidkv", "h2o", "tova", "expected_attention", "knorm", "circuitkv"]
ONCE = {"h2o", "tova", "knorm"}
"""They may go on after the prompt: here all decide once, so that all share its reading."""
OWN_WINDOW = {"h2o": 8, "tova": 1, "knorm": 0, "expected_attention": 0}
AFTER = 32
"""Tokens of a text that follow its context."""
SEED = 42


class Recent(ByScores):
    """The first four tokens and the latest: what StreamingLLM keeps of a prompt read in full."""

    def __init__(self, budget: int) -> None:
        self.sinks, self._budget = 4, budget

    def scores(self, seen: Seen) -> torch.Tensor:
        """The latest have the highest."""
        return seen.places.to(torch.float32)

    def budget(self, seen: Seen) -> int:
        """The same in every layer."""
        return self._budget

    def words(self) -> str:
        """For a sentence."""
        return f"{self._budget} tokens a head, the latest and four sinks"


def policies(model: Any, length: int, shares: list[float]) -> dict[tuple[str, float], Any]:
    """Each method at each share of so many tokens."""
    found: dict[tuple[str, float], Any] = {}
    for share in shares:
        budget = round(share * length)
        found["recent", share] = Recent(budget)
        for name in METHODS:
            module = importlib.import_module(f"pare_backends.kv_cache.{name}")
            window = OWN_WINDOW.get(name, min(32, budget // 4))
            knobs = {"budget": budget, "window": window}
            knobs |= {"evicts": "after_prompt"} if name in ONCE else {}
            with gathered_policies() as gathered:
                module.attach(model, module.Params(**knobs))
            found[name, share] = gathered[0]
    return found


def needles(tokenizer: Any, length: int, count: int) -> list[tuple[list[int], list[int]]]:
    """Prompts with a number in them that is asked for, and the number's tokens."""
    said = {"task": "niah_single_2", "lengths": [length], "count": count, "seed": SEED}
    found = []
    for row in ruler_rows("niah_single_2", said, tokenizer, 8192, None):
        prompt = tokenizer(f"{row['input']} {row['gen_prefix']}").input_ids
        answer = tokenizer(" " + row["outputs"][0]).input_ids
        found.append((prompt, answer))
    return found


def texts(tokenizer: Any, path: Path, length: int, count: int) -> list[tuple[list[int], list[int]]]:
    """Contexts of ordinary text with what follows them."""
    rows = [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]
    tokens = tokenizer("\n".join(rows)).input_ids
    step = (len(tokens) - length - AFTER) // max(1, count - 1) if count > 1 else 0
    starts = [step * number for number in range(count)]
    return [
        (tokens[one : one + length], tokens[one + length : one + length + AFTER]) for one in starts
    ]


def after(model: Any, policy: Any, cache: Any, last: int, follows: list[int]) -> torch.Tensor:
    """Log-probabilities of each token that follows, from what was kept. returns: (T, words)"""
    read = torch.tensor([[last, *follows[:-1]]])
    with running_with(model, policy):
        return follow(model, cache, read)[0].float().log_softmax(-1)


@torch.no_grad()
def measure(model: Any, tokenizer: Any, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """A row of each cell: means over prompts."""
    cells: dict[tuple[int, str, float], list[dict[str, float]]] = {}
    for length in asked["lengths"]:
        prompts = [("needle", *one) for one in needles(tokenizer, length, asked["prompts"])]
        prompts += [
            ("text", *one) for one in texts(tokenizer, Path(asked["text"]), length, asked["texts"])
        ]
        for kind, prompt, follows in prompts:
            own = policies(model, len(prompt) - 1, asked["shares"])
            held = [("full", 1.0, KeepsAll()), *((*name, one) for name, one in own.items())]
            context = torch.tensor([prompt[:-1]])
            reads = read_contexts(model, [one for _, _, one in held], context)
            whole: torch.Tensor | None = None
            for (name, share, policy), read in zip(held, reads, strict=True):
                row = {"tokens": kept_tokens(read.cache).mean, "bytes": kept_bytes(read.cache)}
                said = after(model, policy, read.cache, prompt[-1], follows)
                whole = said if whole is None else whole
                kl = (whole.exp() * (whole - said)).sum(-1).mean()
                right = torch.tensor(follows)
                found = bool((said.argmax(-1) == right).all())
                nll = -float(said.gather(-1, right[:, None]).mean())
                measured = {f"{kind}_kl": float(kl), f"{kind}_nll": nll}
                measured |= {"found": float(found)} if kind == "needle" else {}
                cells.setdefault((length, name, share), []).append({**row, **measured})
            print(f"{length} tokens: {kind}", file=sys.stderr, flush=True)
    return [
        {"length": length, "method": name, "share": share, **_means(rows)}
        for (length, name, share), rows in cells.items()
    ]


def _means(rows: list[dict[str, float]]) -> dict[str, float]:
    names = sorted({name for row in rows for name in row})
    return {
        name: sum(row[name] for row in rows if name in row) / sum(name in row for row in rows)
        for name in names
    }


IN_PRESSES = """
import json, sys, time, torch, transformers
import kvpress
asked = json.loads(sys.stdin.read())
torch.set_num_threads(asked["threads"])
model = transformers.AutoModelForCausalLM.from_pretrained(asked["model_dir"], dtype=torch.float32)
text = torch.tensor([asked["tokens"]])
presses = [press for at in asked["ratios"] for press in (
    kvpress.SnapKVPress(at, window_size=16), kvpress.PyramidKVPress(at, window_size=16),
    kvpress.TOVAPress(at), kvpress.KnormPress(at), kvpress.ExpectedAttentionPress(at),
    kvpress.StreamingLLMPress(at), kvpress.KeyDiffPress(at))]
def read(press):
    cache = transformers.DynamicCache(config=model.config)
    with torch.no_grad(), press(model):
        model(text, past_key_values=cache, logits_to_keep=1)
read(presses[0])
began = time.perf_counter()
for press in presses:
    read(press)
print(json.dumps({"seconds": time.perf_counter() - began, "count": len(presses)}))
"""


def _seconds(read: Any, *arguments: Any) -> float:
    began = time.perf_counter()
    read(*arguments)
    return time.perf_counter() - began


@torch.no_grad()
def times(model: Any, tokenizer: Any, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Seconds of one prompt: with the full cache and once for every cell (medians of three, in
    turn), by each cell alone, and by kvpress's own hooks at the same shares."""
    found = []
    for length in asked["timed"]:
        prompt = needles(tokenizer, length, 1)[0][0]
        context = torch.tensor([prompt[:-1]])
        own = policies(model, length, asked["shares"])
        cells = list(own.values())
        read_context(model, context)  # what comes first pays for memory
        turns = [
            (_seconds(read_context, model, context), _seconds(read_contexts, model, cells, context))
            for _ in range(3)
        ]
        full, together = (statistics.median(one) for one in zip(*turns, strict=True))
        began = time.perf_counter()
        for policy in cells:
            with running_with(model, policy):
                read_context(model, context)
        alone = time.perf_counter() - began
        row = {"length": length, "full": full, "cells": len(own), "sweep": together, "alone": alone}
        row["load"] = os.getloadavg()[0]
        if asked["presses"] is not None:
            told = subprocess.run(
                [asked["presses"], "-c", IN_PRESSES],
                input=json.dumps(
                    {
                        **{"model_dir": asked["model_dir"], "tokens": context[0].tolist()},
                        "ratios": [1 - share for share in asked["shares"]],
                        "threads": torch.get_num_threads(),
                    }
                ),
                capture_output=True,
                text=True,
                check=True,
            )
            pressed = json.loads(told.stdout.splitlines()[-1])
            row["press"] = pressed["seconds"] / pressed["count"]
        found.append(row)
    return found


def main() -> None:
    """Measures what is asked for."""
    asked = json.loads(sys.stdin.read())
    torch.set_num_threads(asked["threads"])
    model, tokenizer = load_dequantized(asked["model_dir"])
    attach_policy(model, KeepsAll())
    began, load = time.perf_counter(), os.getloadavg()[0]
    cells = measure(model, tokenizer, asked)
    said = {"cells": cells, "times": times(model, tokenizer, asked)}
    loads = [round(load, 1), round(os.getloadavg()[0], 1)]
    seconds = round(time.perf_counter() - began)
    print(json.dumps({**said, "load": loads, "seconds": seconds, "threads": asked["threads"]}))


if __name__ == "__main__":
    main()
