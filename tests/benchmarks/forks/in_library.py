"""GGUF files in one library: loads them all, then times or computes one as it is asked.

Words: the library's runtime, threads, a folder of folders with a model.gguf each, their names. Each
line of standard input is {"time": name, "prompt": ids, "new_tokens": n}, answered by the seconds of
the generation, or {"logits": name, "window": ids, "path": .npy}, answered by null when the file
stands there: float32 log-probabilities (tokens, vocabulary).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def open_decoder(runtime: str, directory: str, threads: int) -> Any:
    """As the runtime is timed."""
    if runtime == "llama.cpp":
        from pare_backends.runtimes.llama_cpp.decoder import LlamaCppDecoder

        return LlamaCppDecoder(directory, threads, polls=True)
    from pare_backends.runtimes.ik_llama_cpp.decoder import IkLlamaCppDecoder

    return IkLlamaCppDecoder(directory, threads)


def generate(decoder: Any, prompt: list[int], count: int) -> float:
    """Seconds of `count` greedy tokens after the prompt."""
    decoder.reset()
    token = int(decoder.step(np.array(prompt, np.int64))[-1].argmax())
    began = time.perf_counter()
    for _ in range(count):
        token = int(decoder.step(np.array([token], np.int64))[-1].argmax())
    return time.perf_counter() - began


def log_probabilities(decoder: Any, window: list[int]) -> np.ndarray:
    """returns: (tokens, vocabulary) float32"""
    decoder.reset()
    logits = decoder.append(np.array(window, np.int64), len(window))
    logits -= logits.max(-1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    return np.asarray(logits)


def main() -> None:
    runtime, threads, folder, *names = sys.argv[1:]
    decoders = {name: open_decoder(runtime, str(Path(folder) / name), int(threads)) for name in names}
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if "time" in asked:
            seconds = generate(decoders[asked["time"]], asked["prompt"], asked["new_tokens"])
            print(json.dumps(seconds), flush=True)
        else:
            np.save(asked["path"], log_probabilities(decoders[asked["logits"]], asked["window"]))
            print("null", flush=True)


if __name__ == "__main__":
    main()
