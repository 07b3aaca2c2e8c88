"""`ModelFacts` of the wire, read from a checkpoint's own files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.load import meta_model
from pare_backends.checkpoint.stored import Entry, StoredTensors
from pare_backends.evaluation.limits import context_length
from pare_backends.failures import StageFailure, one_line
from pare_backends.models.checks import check_finite, check_shapes, check_tokenizer
from pare_backends.models.grid import detect_grid
from pare_backends.models.layout import Layout, model_layout
from pare_backends.progress import Report

GROUP_SIZES = (16, 32, 48, 64, 96, 128, 192, 256)
TORCH_NAMES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64"}


def find_layout(directory: Path, entries: dict[str, Entry]) -> Layout:
    """The architecture's layers; `StageFailure` where transformers or the files lack them."""
    try:
        model = meta_model(directory)
        layout = model_layout(model, entries)
    except Exception as error:
        # transformers' checks raise a dozen types, and a model's own code whatever it likes.
        raise StageFailure(
            "bad_input",
            f"Cannot use {directory}: transformers cannot build its architecture as a causal"
            f" language model ({one_line(error, 160)})",
        ) from error
    if layout.missing:
        raise StageFailure(
            "bad_input",
            f"Cannot use {directory}: its files hold no weight for {layout.missing[0]}"
            f" ({len(layout.missing)} layers are missing)",
            hint="The checkpoint is incomplete, or its layers are fused in a way pare cannot cut",
        )
    if not layout.linear and not layout.problems:
        raise StageFailure(
            "bad_input",
            f"Cannot use {directory}: {no_layers(model)}",
            hint="Copy the directory again, or give a model that is built of linear layers",
        )
    check_shapes(directory, model, entries)
    return layout


def no_layers(model: Any) -> str:
    """What stands in the place of linear layers: none at all, or classes unknown here."""
    count = getattr(model.config.get_text_config(), "num_hidden_layers", None)
    if not isinstance(count, int) or count < 1:
        return f"by its config.json it has no layers (num_hidden_layers is {count})"
    kinds = {type(m).__name__ for m in model.modules() if len(list(m.parameters(False))) > 0}
    return f"its weights are those of {', '.join(sorted(kinds))}, none of them a linear layer"


def original_dtype(entries: dict[str, Entry]) -> str:
    """The type of most of the weights."""
    counts: Counter[str] = Counter()
    for entry in entries.values():
        counts[entry.dtype] += entry.values
    name = counts.most_common(1)[0][0]
    return TORCH_NAMES.get(name, name)


def weight_shapes(layout: Layout, entries: dict[str, Entry]) -> list[dict[str, int]]:
    """Shapes of the linear layers with their counts, most frequent first."""
    counts = Counter(matrix_shape(layout, entries, name) for name in layout.linear)
    return [
        {"out_features": shape[0], "in_features": shape[1], "count": count}
        for shape, count in counts.most_common()
    ]


def matrix_shape(layout: Layout, entries: dict[str, Entry], layer: str) -> tuple[int, int]:
    """(out, in) of a layer, however its file holds it."""
    first, second = entries[f"{layer}.weight"].shape
    return (second, first) if layer in layout.transposed else (first, second)


def model_facts(
    directory: Path, config: dict[str, Any], entries: dict[str, Entry], report: Report
) -> Any:
    """Everything of `ModelFacts` that the directory itself tells."""
    from transformers import AutoConfig

    from pare_backends.checkpoint.load import trusts_remote_code

    layout = find_layout(directory, entries)
    tokenizer = check_tokenizer(directory)
    check_finite(directory, entries, report)
    full = AutoConfig.from_pretrained(
        str(directory), local_files_only=True, trust_remote_code=trusts_remote_code()
    )
    text = full.get_text_config()
    stored = StoredTensors(entries)
    columns = sorted({matrix_shape(layout, entries, name)[1] for name in layout.linear})

    def weight(layer: str) -> np.ndarray:
        values = stored[f"{layer}.weight"].astype("float32")
        return values.T if layer in layout.transposed else values

    heads = int(text.num_attention_heads)
    counted = {name: entry.values for name, entry in entries.items() if name in layout.roles}
    if layout.head_copy is not None:
        counted.pop(f"{layout.head_copy}.weight")
    experts = sum(counted[f"{name}.weight"] for name in layout.experts)
    outer = sum(counted[f"{name}.weight"] for name in layout.part("embedding"))
    parameters = sum(counted.values())
    return {
        "architecture": (config.get("architectures") or [type(full).__name__])[0],
        "model_type": str(config["model_type"]),
        "dtype": original_dtype(entries),
        "parameters": parameters,
        "embedding_parameters": outer,
        "linear_parameters": sum(counted[f"{name}.weight"] for name in layout.linear),
        "original_bytes": sum({e.path: e.path.stat().st_size for e in entries.values()}.values()),
        "fp16_bytes": 2 * parameters,
        "tied_embeddings": layout.head is None,
        "layers": int(text.num_hidden_layers),
        "hidden_size": int(text.hidden_size),
        "intermediate_size": int(getattr(text, "intermediate_size", None) or 4 * text.hidden_size),
        "heads": heads,
        "kv_heads": int(getattr(text, "num_key_value_heads", None) or heads),
        "vocabulary": int(text.vocab_size),
        "context_length": context_length(full),
        "linear_shapes": weight_shapes(layout, entries),
        "group_sizes": [g for g in GROUP_SIZES if all(c % g == 0 for c in columns)],
        "grid": detect_grid(layout.linear, weight, columns),
        "expert_parameters": experts,
        "unpackable": layout.problems[0] if layout.problems else None,
        "chat_template": bool(getattr(tokenizer, "chat_template", None)),
        "custom_code": bool(config.get("auto_map")),
    }
