"""Prints what kquant makes of a random model of each architecture, a JSON line each: the facts of
the model and of the artifact, its bytes, and how far llama.cpp's logits of the file are from those
of its dequantized weights. Arguments: a JSON list of architectures, a JSON object of knobs."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from runtime_fixtures import folder, four_bit_model
from safetensors.numpy import save_file
from test_llama_cpp import interpreter, logits_path, proof

from pare_backends.calls import apply, verify
from pare_backends.calls.conversion import check_conversion, convert
from pare_backends.calls.import_model import ImportModelRequest
from pare_backends.calls.import_model import run as import_model
from pare_backends.failures import CallFailure
from pare_backends.models.tiny import write_tokenizer
from pare_backends.progress import silent_report


@functools.cache
def floats_of(architecture: str, variant: str = "") -> Path:
    """A model of random weights with a tokenizer and windows of text."""
    four_bit_model(architecture, variant)
    directory = folder() / f"{architecture}{variant}-floats"
    write_tokenizer(directory)
    ids = np.random.default_rng(0).integers(0, 320, (4, 32)).astype(np.int32)
    save_file({"input_ids": ids}, str(directory / "windows.st"))
    return directory


def made(architecture: str, params: dict[str, Any], variant: str = "") -> dict[str, Any]:
    source = floats_of(architecture, variant)
    before = import_model(
        ImportModelRequest(str(source), str(source / "none"), False), silent_report()
    )
    output = folder() / f"{architecture}{variant}-kquant-{params['block_mix']}"
    asked = apply.ApplyRequest(
        parent_dir=str(source), output_dir=str(output), agent="quantization", method="kquant",
        params=params, calibration_path=str(source / "windows.st"), seed=0, python_path=None,
        tool_python=interpreter(),
    )  # fmt: skip
    applied = apply.run(asked, silent_report(1))
    found = verify.run(verify.VerifyRequest(str(output), str(source)), silent_report(1))
    proved = proof(output, logits_path(output))
    files = folder() / f"{output.name}-files"
    convert.run(convert.Request("gguf", str(output), str(files)), silent_report())
    asked_back = check_conversion.Request("gguf", str(files), str(output), interpreter())
    converted = check_conversion.run(asked_back, silent_report(1))
    return {
        "before": before,
        "after": applied["model"],
        "formula_bytes": applied["formula_bytes"],
        "size_bytes": applied["size_bytes"],
        "minimum_cosine": found["minimum_cosine"],
        "strict_kl": proved["strict_kl"],
        "default_kl": proved["default_kl"],
        "converted": converted,
    }


if __name__ == "__main__":
    for architecture in json.loads(sys.argv[1]):
        try:
            line = made(architecture, json.loads(sys.argv[2]))
        except CallFailure as error:
            line = {"failed": error.message}
        print(json.dumps({"architecture": architecture, **line}), flush=True)
