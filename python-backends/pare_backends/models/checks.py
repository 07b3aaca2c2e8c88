"""What a checkpoint directory must be before it is used: each refusal in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pare_backends.checkpoint.files import weight_files
from pare_backends.checkpoint.stored import Entry, file_entries
from pare_backends.failures import StageFailure, one_line

PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
CONVERT_HINT = (
    "Convert it once: AutoModelForCausalLM.from_pretrained(dir).save_pretrained(new_dir), on a"
    " machine where you trust the file"
)


def read_config(directory: Path) -> dict[str, Any]:
    """config.json of a checkpoint."""
    path = directory / "config.json"
    if not path.exists():
        raise StageFailure(
            "bad_input",
            f"Cannot use {directory} as a model: it has no config.json",
            hint="Give the directory that a checkpoint was saved to",
        )
    try:
        config = json.loads(path.read_text())
    except ValueError as error:
        raise StageFailure(
            "bad_input", f"Cannot read {path}: it is not JSON ({one_line(error)})"
        ) from error
    if not isinstance(config, dict) or "model_type" not in config:
        raise StageFailure("bad_input", f"Cannot read {path}: it names no model_type")
    return config


def check_config(source: Path | str, config: dict[str, Any], trust_remote_code: bool) -> None:
    """Raises for a checkpoint's own code and for one that is quantized already.

    source: the directory, or the name on the hub, as the sentence calls it
    """
    if config.get("auto_map") and not trust_remote_code:
        raise StageFailure(
            "bad_input",
            f"Cannot use {source}: it carries its own Python code (auto_map in config.json),"
            " which would run on this machine",
            hint="Read that code, then pass --trust-remote-code",
        )
    quantization = config.get("quantization_config")
    if quantization:
        method = quantization.get("quant_method", "an unknown method")
        raise StageFailure(
            "bad_input",
            f"Cannot use {source} as a baseline: it is quantized already ({method})",
            hint="Give the model that it was made from",
        )


def read_entries(directory: Path) -> dict[str, Entry]:
    """The checkpoint's tensors by name, every file's header checked against its bytes."""
    files = weight_files(directory)
    if not files:
        pickles = sorted(p.name for pattern in PICKLES for p in directory.glob(pattern))
        if pickles:
            raise StageFailure(
                "bad_input",
                f"Cannot use {directory}: its weights are pickled ({pickles[0]}), which can run"
                " code when they are loaded",
                hint=CONVERT_HINT,
            )
        raise StageFailure(
            "bad_input", f"Cannot use {directory} as a model: it has no safetensors files"
        )
    return {name: entry for path in files for name, entry in file_entries(path).items()}


def check_tokenizer(directory: Path) -> Any:
    """The tokenizer, or a sentence where it cannot be read."""
    from pare_backends.checkpoint.load import load_tokenizer

    try:
        return load_tokenizer(directory)
    except Exception as error:
        # transformers and tokenizers raise a dozen types for a missing or damaged tokenizer.
        raise StageFailure(
            "bad_input",
            f"Cannot read the tokenizer in {directory}: {one_line(error, 200)}",
            hint="A checkpoint needs tokenizer.json or its model's own vocabulary files",
        ) from error
