"""GGUF files: dequantized by transformers and written as a float32 checkpoint."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pare_backends.failures import StageFailure, one_line
from pare_backends.progress import Report

MAGIC = b"GGUF"


def check_gguf(path: Path) -> None:
    """Raises where the file is no GGUF."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != MAGIC:
        raise StageFailure(
            "bad_input",
            f"Cannot read {path.name}: a GGUF file starts with {MAGIC!r}, this one with {magic!r}",
            hint="Download or copy the file again",
        )


def gguf_dtype(path: Path) -> str:
    """The type that most of the file's weights have, such as Q4_1."""
    from gguf import GGUFReader

    counts: Counter[str] = Counter()
    for tensor in GGUFReader(path).tensors:
        counts[tensor.tensor_type.name] += int(tensor.n_elements)
    return counts.most_common(1)[0][0]


def convert_gguf(path: Path, output: Path, report: Report) -> str:
    """Writes the checkpoint and returns the original weights' type."""
    check_gguf(path)
    try:
        with report.span("import_gguf", library=True):
            dtype = gguf_dtype(path)
            report.progress(f"read {path.name}", 0, 3, "steps")
            tokenizer = load_gguf_tokenizer(path)
            report.progress(f"read {path.name}", 1, 3, "steps")
            model = load_gguf_model(path)
    except (ValueError, KeyError, TypeError, OSError, IndexError) as error:
        raise StageFailure(
            "bad_input",
            f"Cannot read {path.name}: {one_line(error)}",
            hint="The file may be damaged, or transformers may not know its architecture as GGUF",
        ) from error
    report.progress(f"write {path.name} as safetensors", 2, 3, "steps")
    write_model(model, output)
    end = getattr(model.config, "eos_token_id", None)
    if isinstance(end, int):
        # transformers takes the wrong id for the end from some files; the config's is the file's.
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(end)
    tokenizer.save_pretrained(str(output))
    report.progress(f"write {path.name} as safetensors", 3, 3, "steps")
    return dtype


def load_gguf_tokenizer(path: Path) -> Any:
    """The tokenizer that the file carries."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)


def load_gguf_model(path: Path) -> Any:
    """The model in float32."""
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(
        str(path.parent), gguf_file=path.name, dtype=torch.float32
    )


def write_model(model: Any, output: Path) -> None:
    """Writes weights and config. `save_pretrained` refuses a model that came from GGUF, though
    its weights are plain float32."""
    from safetensors.torch import save_file

    tied = bool(model.config.tie_word_embeddings)
    state = {
        name: tensor.contiguous()
        for name, tensor in model.state_dict().items()
        if not (tied and name == "lm_head.weight")
    }
    path = output / "model.safetensors"
    save_file(state, str(path), metadata={"format": "pt"})
    path.chmod(0o644)  # safetensors writes for the owner alone
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.config.dtype = "float32"
    model.config.architectures = [type(model).__name__]
    model.config._name_or_path = ""
    model.generation_config.save_pretrained(str(output))
    # Last: a directory without it is no checkpoint.
    model.config.save_pretrained(str(output))
