"""GGUF files beside each other in llama.cpp: time of a token, KL from the original, bytes.

Reads a request as JSON from standard input: {"folder": of folders with a model.gguf each, "names":
those that are timed, "own": types that llama.cpp is to round to itself, by name, "from": the folder
whose file it rounds, "windows": token ids, "repeats", "prompt_tokens", "new_tokens", "threads"}.
The files generate in turn; KL is from the folder "reference", computed by llama.cpp too, so that
what it rounds by itself counts. Writes {"bandwidth", "load", "files": {name: …}}.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.measuring.bandwidth import bandwidth_meter
from pare_backends.measuring.quiet import timing_lock, wait_until_quiet
from pare_backends.progress import Report, silent_report
from pare_backends.runtimes.llama_cpp.decoder import LlamaCppDecoder
from pare_backends.runtimes.llama_cpp.gguf_directory import MODEL_FILE
from pare_backends.runtimes.llama_cpp.library import api

SEED = 1


def main() -> None:
    asked = json.load(sys.stdin)
    report = silent_report(asked["threads"])
    folder = Path(asked["folder"])
    for name, kind in asked["own"].items():
        round_by_llama_cpp(folder / asked["from"] / MODEL_FILE, folder / name, kind)
    names = [*asked["names"], *asked["own"]]
    files = {name: {"bytes": (folder / name / MODEL_FILE).stat().st_size} for name in names}
    answer = {**timed(folder, names, asked, report), "files": files}
    for name, kl in divergences(folder, names, asked).items():
        files[name]["kl"] = kl
    for name, seconds in answer.pop("seconds").items():
        files[name]["ms"] = [1000 * one / asked["new_tokens"] for one in seconds]
    json.dump(answer, sys.stdout)


def round_by_llama_cpp(source: Path, folder: Path, kind: int) -> None:
    """llama.cpp's own rounding, its defaults; the file beside a copy of the original's config.json.

    kind: its number of a file type, such as 2 for Q4_0 and 15 for Q4_K_M
    """
    folder.mkdir()
    shutil.copyfile(source.parent / "config.json", folder / "config.json")
    choices = api.llama_model_quantize_default_params()
    choices.ftype = kind
    paths = (str(source).encode(), str(folder / MODEL_FILE).encode())
    status = api.llama_model_quantize(*paths, ctypes.byref(choices))
    if status != 0:
        raise SystemExit(f"Cannot round {source}: llama_model_quantize gave {status}")


def timed(folder: Path, names: list[str], asked: dict[str, Any], report: Report) -> dict[str, Any]:
    """Seconds of every pass's generation by name, the files in turn; bytes a second of the
    machine's memory; its load."""
    import time

    with timing_lock(report):
        decoders = {
            name: LlamaCppDecoder(str(folder / name), asked["threads"], polls=True)
            for name in names
        }
        generator = np.random.default_rng(SEED)
        prompt = generator.integers(
            0, next(iter(decoders.values())).vocabulary, asked["prompt_tokens"], dtype=np.int64
        )
        wait_until_quiet(report)
        load, bandwidth = os.getloadavg()[0], bandwidth_meter(report.threads)()
        seconds: dict[str, list[float]] = {name: [] for name in names}
        for repeat in range(asked["repeats"] + 1):
            for name, decoder in decoders.items():
                decoder.reset()
                token = int(decoder.step(prompt)[-1].argmax())
                began = time.perf_counter()
                for _ in range(asked["new_tokens"]):
                    token = int(decoder.step(np.array([token], np.int64))[-1].argmax())
                if repeat > 0:  # the first pass warms up
                    seconds[name].append(time.perf_counter() - began)
        for decoder in decoders.values():
            decoder.close()
    return {"bandwidth": bandwidth, "load": load, "seconds": seconds}


def log_probabilities(decoder: LlamaCppDecoder, window: list[int]) -> np.ndarray:
    """returns: (tokens, vocabulary) float32"""
    decoder.reset()
    logits = decoder.append(np.array(window, np.int64), len(window))
    logits -= logits.max(-1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    return logits


def divergences(folder: Path, names: list[str], asked: dict[str, Any]) -> dict[str, list[float]]:
    """KL from the reference on each window, nats a token, by name."""
    threads = asked["threads"]
    reference = LlamaCppDecoder(str(folder / "reference"), threads)
    decoders = {name: LlamaCppDecoder(str(folder / name), threads) for name in names}
    found: dict[str, list[float]] = {name: [] for name in names}
    for window in asked["windows"]:
        expected = log_probabilities(reference, window)
        share = np.exp(expected)
        for name, decoder in decoders.items():
            apart = expected - log_probabilities(decoder, window)
            found[name].append(float((share * apart).sum(-1).mean()))
    return found


if __name__ == "__main__":
    main()
