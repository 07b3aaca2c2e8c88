"""The compressed model as the original's draft in llama.cpp: time of a token, and what is taken.

Reads JSON from standard input: {"target": folder of a model.gguf, "draft": another of the same
tokens, "prompts": token ids, "drafted": numbers of tokens that are guessed at once, "new_tokens",
"threads", "repeats"}. The ways to generate come in turn. Writes {"load", "ways": {name: {"ms",
"taken", "equal"}}}: milliseconds a token of each pass, the share of guesses that the original
takes, and the share of its own greedy tokens that come out.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np

from pare_backends.measuring.quiet import timing_lock, wait_until_quiet
from pare_backends.progress import silent_report
from pare_backends.runtimes.llama_cpp.decoder import LlamaCppDecoder

CONTEXT = 512


def best(logits: np.ndarray) -> int:
    return int(logits.argmax())


def alone(decoder: LlamaCppDecoder, prompt: np.ndarray, count: int) -> tuple[list[int], float]:
    """Greedy tokens after a prompt, and seconds after it was read."""
    decoder.reset()
    found = [best(decoder.append(prompt, 1)[-1])]
    began = time.perf_counter()
    while len(found) < count:
        found.append(best(decoder.step(np.array(found[-1:], np.int64))[-1]))
    return found, time.perf_counter() - began


def drafted(
    target: LlamaCppDecoder, draft: LlamaCppDecoder, prompt: np.ndarray, count: int, guesses: int
) -> tuple[list[int], float, float]:
    """The same with guesses of the draft, which the target reads at once; the share it takes."""
    for one in (target, draft):
        one.reset()
    found = [best(target.append(prompt, 1)[-1])]
    draft.append(prompt, 1)
    read, behind, asked, taken = len(prompt), [found[0]], 0, 0
    began = time.perf_counter()
    while len(found) < count:
        own: list[int] = []
        for _ in range(guesses):
            own.append(best(draft.append(np.array(behind, np.int64), 1)[-1]))
            behind = own[-1:]
        said = target.append(np.array([found[-1], *own], np.int64), guesses + 1).argmax(-1)
        right = 0
        while right < guesses and own[right] == int(said[right]):
            right += 1
        asked, taken = asked + guesses, taken + right
        found += [*own[:right], int(said[right])]
        read += 1 + right
        target.keep(read)
        if right < guesses:
            draft.keep(read)
            behind = found[-1:]
        else:
            behind = [own[-1], found[-1]]
    return found[:count], time.perf_counter() - began, taken / asked


def main() -> None:
    asked = json.load(sys.stdin)
    report = silent_report(asked["threads"])
    count, ways = asked["new_tokens"], {}

    def way(name: str) -> dict[str, Any]:
        return ways.setdefault(name, {"ms": [], "taken": [], "equal": []})

    with timing_lock(report):
        target, draft = (
            LlamaCppDecoder(asked[one], asked["threads"], CONTEXT, polls=True)
            for one in ("target", "draft")
        )
        wait_until_quiet(report)
        load = os.getloadavg()[0]
        for repeat in range(asked["repeats"]):
            for words in asked["prompts"]:
                prompt = np.array(words, np.int64)
                expected, seconds = alone(target, prompt, count)
                way("original")["ms"].append(1000 * seconds / (count - 1))
                found, seconds = alone(draft, prompt, count)
                way("draft alone")["ms"].append(1000 * seconds / (count - 1))
                way("draft alone")["equal"].append(np.mean(np.array(found) == expected))
                for guesses in asked["drafted"]:
                    found, seconds, taken = drafted(target, draft, prompt, count, guesses)
                    one = way(f"{guesses} drafted")
                    one["ms"].append(1000 * seconds / (count - 1))
                    one["taken"].append(taken)
                    one["equal"].append(float(np.mean(np.array(found) == expected)))
            if repeat == 0:
                for one in ways.values():
                    one["ms"].clear()  # the first pass warms up
    json.dump({"load": load, "ways": ways}, sys.stdout, default=float)


if __name__ == "__main__":
    main()
