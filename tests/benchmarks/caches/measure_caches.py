"""What each cache policy loses on one model, all of them from one reading of each prompt.

Reads one JSON object: `model_dir`, `text` (JSON lines with `text`), `lengths`, `prompts` of each
length, `minutes`, `shares`, `timed` lengths, `threads`, `presses` (the interpreter of kvpress's
environment, or null), `rows` (a file of what was measured, which is gone on with), `known` (of each
length and kind of prompt the cells whose figures are kept: they are not measured again). Prints one
with `cells` and `times`. Run by bench_caches.ts.
"""

from __future__ import annotations

import copy
import importlib
import itertools
import json
import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from scipy import stats
from time_readings import times

from pare_backends.cache.attach import (
    KeepsAll,
    attach_policy,
    gathered_policies,
    running_with,
)
from pare_backends.cache.kept import forked, kept_bytes, kept_tokens
from pare_backends.cache.policy import ATTRIBUTE, ByScores, Seen
from pare_backends.cache.reading import follow, read_context, read_contexts
from pare_backends.checkpoint.load import load_dequantized
from pare_backends.evaluation.ruler.make import ruler_rows
from pare_backends.kv_cache.kv_quant import Params as Codes
from pare_backends.kv_cache.kv_quant import Stored
from pare_backends.kv_cache.streaming import SinksAndWindow

METHODS = [
    "snapkv",
    "pyramidkv",
    "h2o",
    "tova",
    "expected_attention",
    "knorm",
    "circuitkv",
]
ONCE = {"h2o", "tova", "knorm"}
"""They may go on after the prompt: here all decide once, so that all share its reading."""
OWN_WINDOW = {"h2o": 8, "tova": 1, "knorm": 0, "expected_attention": 0}
CODES = [("kivi", 4), ("kivi", 2), ("turboquant", 4), ("turboquant", 2)]
AFTER = 32
"""Tokens of a text that follow its context."""
SINKS = 4
SEED = 42


class Recent(ByScores):
    """The first tokens and the latest: what StreamingLLM keeps of a prompt read in full."""

    def __init__(self, budget: int) -> None:
        self.sinks, self._budget = SINKS, budget

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


class StoredOnce(Stored):
    """All tokens of the prompt as codes; what follows is read at once and none of it."""

    when = "after_prompt"


def coded() -> dict[tuple[str, float], Any]:
    """All tokens as codes, by bits of a code over 16."""
    return {
        (f"kv_quant {codes}", bits / 16): StoredOnce(Codes(codes=codes, code_bits=bits))
        for codes, bits in CODES
    }


@dataclass(frozen=True)
class Prompt:
    """What is read, what may follow it, and how that is scored."""

    length: int
    kind: str
    tokens: list[int]
    """The last of them is read with what follows."""
    follows: list[list[int]]
    """The right one first."""


def _made(tokenizer: Any, task: str, length: int, count: int) -> list[Any]:
    said = {"task": task, "lengths": [length], "count": count, "seed": SEED}
    return ruler_rows(task, {**said, "rank": task != "vt"}, tokenizer, 8192, None)


def needles(tokenizer: Any, length: int, count: int) -> list[Prompt]:
    """A number that stands in the prompt is asked for: its tokens, then those of nine others."""
    found = []
    for row in _made(tokenizer, "niah_single_2", length, count):
        right = row["outputs"][0]
        numbers = [right, *(one for one in row["choices"] if one != right)]
        follows = [tokenizer(f" {one}").input_ids for one in numbers]
        read = tokenizer(f"{row['input']} {row['gen_prefix']}").input_ids
        found.append(Prompt(length, "needle", read, follows))
    return found


def chains(tokenizer: Any, length: int, count: int) -> list[Prompt]:
    """Five names of one value are asked for, written as the worked example writes its own."""
    found = []
    for row in _made(tokenizer, "vt", length, count):
        read = tokenizer(f"{row['input']} {row['gen_prefix']}").input_ids
        names = tokenizer(f"  {' '.join(row['outputs'])}").input_ids
        found.append(Prompt(length, "chain", read, [names]))
    return found


def texts(tokenizer: Any, path: Path, length: int, count: int) -> list[Prompt]:
    """Contexts of ordinary text with what follows them."""
    rows = [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]
    tokens = tokenizer("\n".join(rows)).input_ids
    step = (len(tokens) - length - AFTER) // max(1, count - 1) if count > 1 else 0
    starts = [step * number for number in range(count)]
    return [
        Prompt(
            length,
            "text",
            tokens[one : one + length],
            [tokens[one + length : one + length + AFTER]],
        )
        for one in starts
    ]


def after(model: Any, cache: Any, prompt: Prompt) -> torch.Tensor:
    """Log-probabilities of what may follow, from what was kept. returns: (B, T, words)"""
    longest = max(map(len, prompt.follows))
    rows = [[prompt.tokens[-1], *one[:-1]] for one in prompt.follows]
    read = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    own = forked(cache)
    if len(rows) > 1:
        for layer in own.layers:
            layer.batch_repeat_interleave(len(rows))
    return follow(model, own, read).float().log_softmax(-1)


def scored(prompt: Prompt, said: torch.Tensor, whole: torch.Tensor) -> dict[str, float]:
    """Figures of one cell on one prompt. said, whole: (B, T, words), by its cache and the full"""
    right = torch.tensor(prompt.follows[0])
    own, full = said[0, : len(right)], whole[0, : len(right)]
    found = {
        "kl": float((full.exp() * (full - own)).sum(-1).mean()),
        "nll": -float(own.gather(-1, right[:, None]).mean()),
        "right": float((own.argmax(-1) == right).float().mean()),
    }
    if len(prompt.follows) > 1:
        likely = [
            float(one[: len(tokens)].gather(-1, torch.tensor(tokens)[:, None]).sum())
            for one, tokens in zip(said, prompt.follows, strict=True)
        ]
        found["rank"] = 1 / sum(value >= likely[0] for value in likely)
        found["right"] = float(found["right"] == 1)
    return {f"{prompt.kind}_{name}": value for name, value in found.items()}


@torch.no_grad()
def measure(
    model: Any, streamed: Any, prompt: Prompt, asked: dict[str, Any]
) -> list[dict[str, Any]]:
    """A row of each cell on one prompt."""
    context, rows = torch.tensor([prompt.tokens[:-1]]), []
    count, shares = context.shape[1], asked["shares"]
    known = {tuple(one) for one in asked["known"].get(f"{prompt.length} {prompt.kind}", [])}
    whole: torch.Tensor | None = None

    def row(name: str, share: float, own: Any, cache: Any) -> None:
        nonlocal whole
        kept = {"tokens": kept_tokens(cache).mean, "bytes": kept_bytes(cache)}
        said = after(own, cache, prompt)
        whole = said if whole is None else whole
        cell = {"length": prompt.length, "method": name, "share": share}
        rows.append({**cell, "measured": {**kept, **scored(prompt, said, whole)}})

    cells = {**policies(model, count, shares), **coded()}
    lacking = {cell: policy for cell, policy in cells.items() if cell not in known}
    apart = [share for share in shares if ("streaming", share) not in known]
    if not lacking and not apart:
        return []
    held = {("full", 1.0): KeepsAll(), **lacking}
    reads = read_contexts(model, list(held.values()), context)
    for ((name, share), policy), read in zip(held.items(), reads, strict=True):
        with running_with(model, policy):
            row(name, share, model, read.cache)
    # What it lets go of no later token of the prompt sees.
    for share in apart:
        setattr(streamed, ATTRIBUTE, SinksAndWindow(SINKS, round(share * count) - SINKS))
        row("streaming", share, streamed, read_context(streamed, context))
    return rows


def rounds(tokenizer: Any, asked: dict[str, Any]) -> Iterator[tuple[int, Prompt]]:
    """One of each length and kind after another, so that none lacks all whenever time is over."""
    made: list[list[Prompt]] = []
    for length, count in zip(asked["lengths"], asked["prompts"], strict=True):
        made.append(texts(tokenizer, Path(asked["text"]), length, count))
        made.append(needles(tokenizer, length, count))
        made.append(chains(tokenizer, length, count))
    for number, own in enumerate(itertools.zip_longest(*made)):
        yield from ((number, one) for one in own if one is not None)


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each cell and figure the mean over its prompts, half of its 95 % interval by Student's t,
    and their number."""
    found: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for one in rows:
        own = found.setdefault((one["length"], one["method"], one["share"]), {})
        for name, value in one["measured"].items():
            own.setdefault(name, []).append(value)
    return [
        {
            "length": length,
            "method": name,
            "share": share,
            "measured": {figure: _mean(values) for figure, values in own.items()},
        }
        for (length, name, share), own in found.items()
    ]


def _mean(values: list[float]) -> dict[str, float | int | None]:
    count = len(values)
    mean = sum(values) / count
    half = None
    if count > 1:
        spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1) / count)
        half = float(stats.t.ppf(0.975, count - 1)) * spread
    return {
        "mean": float(f"{mean:.5g}"),
        "half": None if half is None else float(f"{half:.3g}"),
        "count": count,
    }


def main() -> None:
    """Measures what is asked for."""
    asked = json.loads(sys.stdin.read())
    torch.set_num_threads(asked["threads"])
    model, tokenizer = load_dequantized(asked["model_dir"])
    streamed = copy.deepcopy(model)
    attach_policy(model, KeepsAll())
    attach_policy(streamed, SinksAndWindow(SINKS, 1))
    began, load = time.perf_counter(), os.getloadavg()[0]
    file = Path(asked["rows"])
    kept = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    known = {tuple(one["prompt"]) for one in kept}
    for number, prompt in rounds(tokenizer, asked):
        spent, key = time.perf_counter() - began, (prompt.length, prompt.kind, number)
        if key in known:
            continue
        if spent > 60 * asked["minutes"]:
            break
        kept.append({"prompt": key, "rows": measure(model, streamed, prompt, asked)})
        with file.open("a") as out:
            out.write(json.dumps(kept[-1]) + "\n")
        print(f"{spent:.0f} s: {prompt.length} {prompt.kind}", file=sys.stderr, flush=True)
    rows = [row for one in kept for row in one["rows"]]
    timed = {length: needles(tokenizer, length, 1)[0].tokens for length in asked["timed"]}
    said = {"cells": means(rows), "times": times(model, timed, policies, asked)}
    loads = [round(load, 1), round(os.getloadavg()[0], 1)]
    seconds = round(time.perf_counter() - began)
    print(json.dumps({**said, "load": loads, "seconds": seconds, "threads": asked["threads"]}))


if __name__ == "__main__":
    main()
