"""One cell of bench:stages: a model in one form, what that costs and what is lost by it.

Reads a request as JSON from standard input: {"model": demo or tiny, "folder": where the original
and the calibration windows are kept, "agent", "method", "params", "text": held-out .jsonl of
{"text"}, "calibration_text", "windows", "tokens", "calibration_windows", "calibration_tokens"};
writes what was measured to standard output. The processor's time is this process's, all threads and
children.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import torch
from held_out import held_out
from heldout_kl import windows_of
from safetensors.numpy import save_file

from pare_backends.calls import apply, import_model
from pare_backends.checkpoint import load_dequantized, read, weight_files
from pare_backends.checkpoint.forms import weight_name
from pare_backends.checkpoint.stored import file_entries
from pare_backends.models.layout import layout_of
from pare_backends.progress import silent_report

SEED = 1
FLOAT16_BYTES = 2


def original(asked: dict[str, Any]) -> Path:
    """The model as it was given, imported once."""
    folder = Path(asked["folder"]) / "original"
    if not (folder / "config.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        request = import_model.ImportModelRequest(asked["model"], str(folder), False)
        import_model.run(request, silent_report())
    return folder


def calibration(asked: dict[str, Any], parent: Path) -> Path:
    """Windows of the calibration text, as a study writes them; none of them is evaluated."""
    from pare_backends.checkpoint.load import load_tokenizer

    path = Path(asked["folder"]) / "calibration.safetensors"
    if not path.exists():
        count, tokens = asked["calibration_windows"], asked["calibration_tokens"]
        tokenizer = load_tokenizer(parent)
        windows = windows_of(tokenizer, asked["calibration_text"], count, tokens)
        save_file({"input_ids": windows.numpy()}, str(path))
    return path


def encoded(asked: dict[str, Any], parent: Path, child: Path, **more: str) -> dict[str, float]:
    """Writes the child. more: what else the action is given, as `ApplyRequest` names it

    returns: seconds of the stage and of the processor, load before it
    """
    shutil.rmtree(child, ignore_errors=True)
    request = apply.ApplyRequest(
        parent_dir=str(parent),
        output_dir=str(child),
        agent=asked["agent"],
        method=asked["method"],
        params=asked["params"],
        calibration_path=str(calibration(asked, parent)),
        seed=SEED,
        python_path=None,
        **more,
    )
    load, began, before = os.getloadavg()[0], time.perf_counter(), os.times()
    result = apply.run(request, silent_report(torch.get_num_threads()))
    after = os.times()
    return {
        "encode_seconds": time.perf_counter() - began,
        "encode_processor_seconds": sum(after[:4]) - sum(before[:4]),
        "load": load,
        "peak_memory_bytes": result["peak_memory_bytes"],
    }


def sizes(child: Path) -> dict[str, float]:
    """Bits a linear weight, by the bytes of its tensors in the files; the files' bytes."""
    wanted = {f"{layer}.weight" for layer in layout_of(str(child)).linear}
    paths = weight_files(child)
    taken = sum(
        entry.end - entry.start
        for path in paths
        for name, entry in file_entries(path).items()
        if weight_name(name) in wanted
    )
    return {
        "weight_bits": 8 * taken / linear_weights(child),
        "size_bytes": sum(path.stat().st_size for path in paths),
    }


def linear_weights(child: Path) -> int:
    """How many there are, as the model computes with them."""
    checkpoint = read(child)
    return sum(math.prod(checkpoint.shape(layer)) for layer in layout_of(str(child)).linear)


def decoded(child: Path) -> dict[str, float]:
    """How fast stored layers become floats, one after another, from files in the system's cache: MB
    of float16 a second. A grid's integers are unpacked as they are read."""
    began, before = time.perf_counter(), time.process_time()
    weights = sum(tensor.weight().size for tensor in read(child).stored.values())
    seconds = time.perf_counter() - began
    return {
        "decode_mb_per_second": FLOAT16_BYTES * weights / 1e6 / seconds,
        "decode_processor_seconds": time.process_time() - before,
    }


def own_folder(folder: Path) -> Path:
    """Where this process writes its checkpoint: another one may measure beside it. What a killed one
    left goes."""
    for left in folder.glob("child-*"):
        if not Path("/proc", left.name.removeprefix("child-")).exists():
            shutil.rmtree(left)
    return folder / f"child-{os.getpid()}"


def main() -> None:
    asked = json.load(sys.stdin)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    parent, child = original(asked), own_folder(Path(asked["folder"]))
    found = encoded(asked, parent, child)
    found |= sizes(child) | decoded(child)
    found |= held_out(asked, parent).quality(load_dequantized(child)[0])
    shutil.rmtree(child)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
