"""`ModelFacts` of the wire, read from a checkpoint's own files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.empty_model import context_length, empty_model, load_config
from pare_backends.checkpoint.files import Checkpoint
from pare_backends.checkpoint.generation_settings import settings_notes
from pare_backends.checkpoint.own_code import code_notes, runs_code
from pare_backends.checkpoint.stored import Entry, StoredTensors
from pare_backends.checkpoint.whole_cache import why_whole, with_layer_types
from pare_backends.failures import CallFailure, one_line
from pare_backends.models.blocks import block_matrices, block_parameters
from pare_backends.models.checks import check_finite, check_tokenizer, files_notes
from pare_backends.models.decoder_checks import check_decoder, unread_note
from pare_backends.models.grid import detect_grid
from pare_backends.models.layout import Layout, model_layout
from pare_backends.models.parameter_checks import check_copy, check_tensors
from pare_backends.models.size_checks import check_ids
from pare_backends.progress import Report

GROUP_SIZES = (16, 32, 48, 64, 96, 128, 192, 256)
WIDTH_KEYS = ("intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner")
"""What configurations call the width of an MLP."""
NOT_WHOLE = "The checkpoint is incomplete, or its layers are fused in a way pare cannot cut"
NO_HEAD = (
    "It is a base model without its output head: give the whole causal language model, or say"
    " tie_word_embeddings: true in config.json where the embedding is the head"
)
Shapes = Mapping[str, tuple[int, ...]]
"""By tensor, such as model.embed_tokens.weight, as the model has it, whatever its file holds."""
TORCH_NAMES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64"}


def find_layout(directory: Path, entries: dict[str, Entry]) -> tuple[Layout, list[str]]:
    """(the architecture's layers, what the files hold beside them, in words); `CallFailure` where
    transformers or the files lack them."""
    try:
        model = empty_model(directory)
        layout = model_layout(model, entries)
    except Exception as error:
        # transformers' checks raise a dozen types, and a model's own code whatever it likes.
        raise CallFailure(
            "bad_input",
            f"Cannot use {directory}: transformers cannot build its architecture as a causal"
            f" language model ({one_line(error, 160)})",
        ) from error
    check_decoder(directory, model)
    if layout.missing:
        alone = layout.missing == (layout.head,)
        raise CallFailure(
            "bad_input",
            f"Cannot use {directory}: its files hold no weight for {layout.missing[0]}"
            f" ({len(layout.missing)} layers are missing)",
            hint=NO_HEAD if alone else NOT_WHOLE,
        )
    if not layout.linear and not layout.problems:
        raise CallFailure(
            "bad_input",
            f"Cannot use {directory}: {no_layers(model)}",
            hint="Copy the directory again, or give a model that is built of linear layers",
        )
    check_tensors(directory, model, entries)
    check_copy(directory, layout, entries)
    return layout, unread_note(model, entries)


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


def weight_shapes(layout: Layout, shapes: Shapes) -> list[dict[str, int | bool]]:
    """Shapes of the linear layers with their counts, most frequent first."""
    counts = Counter(
        (*matrix_shape(layout, shapes, name), f"{name}.bias" in shapes) for name in layout.linear
    )
    return [
        {"out_features": rows, "in_features": columns, "count": count}
        | ({"bias": True} if bias else {})
        for (rows, columns, bias), count in counts.most_common()
    ]


def matrix_shape(layout: Layout, shapes: Shapes, layer: str) -> tuple[int, int]:
    """(out, in) of a layer, or of each expert in it, however its file holds it."""
    first, second = shapes[f"{layer}.weight"][-2:]
    return (second, first) if layer in layout.transposed else (first, second)


def checkpoint_shapes(checkpoint: Checkpoint) -> dict[str, tuple[int, ...]]:
    """Shapes of a checkpoint's tensors as the model has them; no weight is read for it."""
    stored = {f"{layer}.weight": tensor.shape for layer, tensor in checkpoint.stored.items()}
    return {**stored, **{name: checkpoint.float_shape(name) for name in checkpoint.floats}}


def model_facts(
    directory: Path, config: dict[str, Any], entries: dict[str, Entry], report: Report
) -> Any:
    """Everything of `ModelFacts` that a baseline's directory tells."""
    layout, unread = find_layout(directory, entries)
    tokenizer = check_tokenizer(directory)
    check_ids(directory, tokenizer, entries[f"{layout.embedding}.weight"].shape[0])
    check_finite(directory, entries, report)
    stored = StoredTensors(entries)
    shapes = {name: entry.shape for name, entry in entries.items()}
    columns = sorted({matrix_shape(layout, shapes, name)[1] for name in layout.linear})

    def weight(layer: str) -> np.ndarray:
        values = stored[f"{layer}.weight"].astype("float32")
        return values.T if layer in layout.transposed else values

    return {
        **own_facts(directory, config, layout, shapes),
        "dtype": original_dtype(entries),
        "original_bytes": sum({e.path: e.path.stat().st_size for e in entries.values()}.values()),
        "grid": detect_grid(layout.linear, weight, columns),
        "chat_template": bool(getattr(tokenizer, "chat_template", None)),
        "notes": [
            *files_notes(directory),
            *unread,
            *settings_notes(directory),
            *code_notes(config),
        ],
    }


def kv_heads_of(text: Any, heads: int) -> int:
    """Heads of keys and values, by whatever name the architecture has for them."""
    if (named := getattr(text, "num_key_value_heads", None)) is not None:
        return int(named)
    # Falcon and GPT-BigCode: one for all queries, but in Falcon's newer architecture.
    if getattr(text, "multi_query", False) and not getattr(text, "new_decoder_architecture", False):
        return 1
    return int(getattr(text, "num_kv_heads", None) or heads)


def inner_width(text: Any) -> int:
    """Features between the matrices of a block; where layers differ (Gemma 3n), of the widest."""
    named = next((width for key in WIDTH_KEYS if (width := getattr(text, key, None))), None)
    widths = named or getattr(text, "expand", 4) * text.hidden_size  # Mamba 2 says a factor
    return max(map(int, widths if isinstance(widths, (list, tuple)) else [widths]))


def own_facts(
    directory: str | Path, config: Mapping[str, Any], layout: Layout, shapes: Shapes
) -> dict[str, Any]:
    """What of `ModelFacts` follows from a configuration and the tensors' shapes: an artifact's own;
    the rest of its facts are its baseline's.

    config: config.json of `directory`
    layout: of these tensors in this architecture
    """
    full = load_config(directory)
    text = full.get_text_config()
    # Where heads differ by layer (Gemma 4), transformers tells those of most only if asked so.
    text.allow_global_per_layer_attribute_access = True
    hidden = int(text.hidden_size)
    heads = int(getattr(text, "num_attention_heads", None) or 0)  # 0: it keeps a state alone
    columns = {matrix_shape(layout, shapes, name)[1] for name in layout.linear}
    counted = {name: math.prod(shape) for name, shape in shapes.items() if name in layout.roles}
    if layout.head_copy is not None:
        counted.pop(f"{layout.head_copy}.weight")
    experts = sum(counted[f"{name}.weight"] for name in layout.experts)
    outer = sum(counted[f"{name}.weight"] for name in layout.part("embedding"))
    parameters = sum(counted.values())
    return {
        "architecture": (config.get("architectures") or [type(full).__name__])[0],
        "model_type": str(config["model_type"]),
        "parameters": parameters,
        "embedding_parameters": outer,
        "linear_parameters": sum(counted[f"{name}.weight"] for name in layout.linear),
        "fp16_bytes": 2 * parameters,
        "tied_embeddings": layout.head is None,
        "layers": int(text.num_hidden_layers),
        "hidden_size": hidden,
        "intermediate_size": inner_width(text),
        "heads": heads,
        "head_dim": int(getattr(text, "head_dim", None) or hidden // heads) if heads else 0,
        "kv_heads": kv_heads_of(text, heads),
        "vocabulary": int(text.vocab_size),
        "context_length": context_length(full),
        "linear_shapes": weight_shapes(layout, shapes),
        "block_matrices": block_matrices(
            layout,
            {
                layer: matrix_shape(layout, shapes, layer)
                for layer in (*layout.linear, *layout.stacks)
            },
        ),
        "group_sizes": [g for g in GROUP_SIZES if all(c % g == 0 for c in columns)],
        "expert_parameters": experts,
        "block_parameters": block_parameters(layout, shapes, counted),
        "unpackable": layout.problems[0] if layout.problems else None,
        "special_linear": min(layout.transposed | layout.own_forward, default=None),
        "whole_cache": why_whole(with_layer_types(full)),
        "custom_code": runs_code(config),
    }
