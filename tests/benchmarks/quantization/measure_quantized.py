"""One cell of bench:quantization: a chain of actions on a model, what it costs and what is lost.

Reads a request as JSON from standard input: as measure_cell.py's, with "actions" ({"agent",
"method", "params"} each) in place of one of them, and "words", passages whose last words are asked.
"tool_python": where llama.cpp
is, for kquant. "bare" in place of actions: the same by the library alone. "mix": by kept layers, see kept_cell.py.
Writes what was measured to standard output, its last line.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from held_out import lost
from measure_cell import (
    calibration,
    encoded,
    linear_weights,
    original,
    own_folder,
    sizes,
)

# Three seconds of imports, which bare_cell.py has behind it too when its clock starts.
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: F401

from pare_backends.checkpoint import load_dequantized

ENCODED = ("encode_seconds", "encode_processor_seconds")


def chained(asked: dict[str, Any], parent: Path) -> tuple[Path, dict[str, Any]]:
    """The model after every action, and what they took together."""
    at, found = parent, dict[str, Any]()
    for number, action in enumerate(asked["actions"]):
        child = Path(asked["own_folder"]) / f"step-{number}"
        # Without a text of its own: a method that trains reads the calibration windows.
        took = encoded(
            {**asked, **action},
            at,
            child,
            training_path=str(calibration(asked, parent)),
            original_dir=str(parent),
            reference_dir=str(parent),
            layer_cache=str(Path(asked["folder"]) / "layers"),
            tool_python=asked.get("tool_python"),
        )
        for name in ENCODED:
            took[name] += found.get(name, 0.0)
        found = {**took, "load": found.get("load", took["load"])}
        at = child
    return at, found


def with_factors(child: Path, found: dict[str, Any]) -> dict[str, Any]:
    """Sizes with the factors that lie beside the weights: they count for the linear layers."""
    beside = sum(path.stat().st_size for path in child.glob("*/*.safetensors"))
    return {
        "weight_bits": found["weight_bits"] + 8 * beside / linear_weights(child),
        "size_bytes": found["size_bytes"] + beside,
    }


def measured(asked: dict[str, Any]) -> dict[str, Any]:
    """All of a cell. An empty chain is the original itself."""
    parent = original(asked)
    if "bare" in asked:
        from bare_cell import by_library

        return by_library(asked, parent)
    if "kept" in asked:
        from kept_cell import kept

        return kept(asked, parent)
    more: dict[str, Any] = {}
    if "mix" in asked:
        from kept_cell import weighed

        asked, more = weighed(asked, parent)
    if not asked["actions"]:
        none = dict.fromkeys((*ENCODED, "load", "peak_memory_bytes"), 0.0)
        held = lost(asked, parent, load_dequantized(parent)[0])
        return none | with_factors(parent, sizes(parent)) | held
    child, found = chained(asked, parent)
    found |= more | with_factors(child, sizes(child))
    found |= lost(asked, parent, load_dequantized(child)[0])
    return found


def main() -> None:
    asked = json.load(sys.stdin)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    own = own_folder(Path(asked["folder"]))
    own.mkdir()
    try:
        answer = json.dumps({"measured": measured({**asked, "own_folder": str(own)})})
    finally:
        shutil.rmtree(own)
    sys.stdout.write(f"\n{answer}\n")


if __name__ == "__main__":
    main()
