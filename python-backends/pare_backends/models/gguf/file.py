"""GGUF files: dequantized by transformers and written as a checkpoint of floats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gguf import GGUFReader

from pare_backends.failures import one_line
from pare_backends.memory_check import FLOAT_BYTES, check_memory
from pare_backends.models.gguf.asking_once import asking_once
from pare_backends.models.gguf.reading import (
    DAMAGED,
    gguf_dtype,
    keys_of,
    one_file,
    open_parts,
    unreadable,
)
from pare_backends.models.gguf.settings import (
    architecture_keys,
    check_known,
    check_tensors,
    end_tokens,
    gguf_config,
    tensor_names,
)
from pare_backends.models.gguf.tokenizer import settle_tokenizer
from pare_backends.progress import Report


def convert_gguf(
    path: Path, output: Path, report: Report, change: Callable[[Any], None] = lambda model: None
) -> tuple[str, list[str]]:
    """Writes the checkpoint.

    returns: the original weights' type, and what the file says and is left out

    path: the file, or any of those that a model was split into
    change: what is done to the model before it is written
    """
    readers = open_parts(path)
    values = sum(int(tensor.n_elements) for reader in readers for tensor in reader.tensors)
    check_memory(path.name, values * FLOAT_BYTES)
    try:
        with report.span("import_gguf", library=True), one_file(path, readers, output) as whole:
            dtype = gguf_dtype(readers)
            check_known(readers)
            report.progress(f"read {path.name}", 0, 3, "steps")
            tokenizer = load_gguf_tokenizer(whole)
            notes = settle_tokenizer(tokenizer, keys_of(readers[0]))
            report.progress(f"read {path.name}", 1, 3, "steps")
            model = load_gguf_model(whole, readers)
    except (*DAMAGED, RuntimeError) as error:
        raise unreadable(path, error) from error
    report.progress(f"write {path.name} as safetensors", 2, 3, "steps")
    ends = end_tokens(readers)
    if ends:
        model.generation_config.eos_token_id = ends if len(ends) > 1 else ends[0]
    change(model)
    write_model(model, output)
    end = getattr(model.config, "eos_token_id", None)
    if isinstance(end, int):
        # transformers takes the wrong id for the end from some files; the config's is the file's.
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(end)
    tokenizer.save_pretrained(str(output))
    report.progress(f"write {path.name} as safetensors", 3, 3, "steps")
    return dtype, notes


def load_gguf_tokenizer(path: Path) -> Any:
    """The tokenizer that the file carries."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    except Exception as error:  # tokenizers has no class of its own for what it refuses
        raise unreadable(path, f"its tokenizer: {one_line(error)}") from error


def load_gguf_model(path: Path, readers: Sequence[GGUFReader]) -> Any:
    """The model in float32, with every tensor and setting of the file: ValueError names one that
    the file lacks, or that transformers has no place for.

    readers: of `path`, or of the parts that it was put together from
    """
    import torch
    from transformers import AutoModelForCausalLM

    config = gguf_config(path, readers)
    check_tensors(architecture_keys(readers)[0], config, tensor_names(readers))
    with asking_once(readers):
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            str(path.parent),
            gguf_file=path.name,
            config=config,
            dtype=torch.float32,
            output_loading_info=True,
        )
    model, info = loaded
    lost = sorted(info["missing_keys"]) or sorted(info["unexpected_keys"])
    if lost:
        raise ValueError(f"transformers leaves {lost[0]} out ({len(lost)} such tensors)")
    return model.eval()


def write_model(model: Any, output: Path) -> None:
    """Writes weights and config. `save_pretrained` refuses a model that came from GGUF, though
    its weights are plain floats."""
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
    model.config.dtype = str(model.dtype).removeprefix("torch.")
    model.config.architectures = [type(model).__name__]
    model.config._name_or_path = ""
    model.generation_config.save_pretrained(str(output))
    # Last: a directory without it is no checkpoint.
    model.config.save_pretrained(str(output))
