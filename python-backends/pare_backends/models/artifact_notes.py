"""What whoever loads or judges an artifact must know, in words and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.forms import GridTensor
from pare_backends.checkpoint.size import float_bytes
from pare_backends.models.layout import Layout

OWN_LOADER = "use pare_backends.checkpoint.load_dequantized"


def other_loaders(child: Checkpoint, layout: Layout) -> list[str]:
    """Why transformers' own loader does not take the directory; empty where it does.

    Tried with transformers 5.17 and compressed-tensors 0.19: packed matrices of experts load, those
    whose inputs are rounded too do not.
    """
    said = own_form_notes(child)
    if child.adapter is not None:
        said.append(
            "an adapter lies beside the weights, in adapter/, which transformers leaves out by"
            f" itself: {OWN_LOADER}, or peft's PeftModel.from_pretrained(model, DIR/adapter)"
        )
    grid = child.in_form(GridTensor)
    if layout.embedding in grid and layout.head is None:
        said.append(
            f"{layout.embedding} is quantized and shared with the output head, which transformers"
            f" does not load by itself: {OWN_LOADER}"
        )
    turned = [layer for layer, tensor in grid.items() if tensor.transposed]
    if turned:
        said.append(
            f"{turned[0]} and {len(turned) - 1} other layers are packed in groups along their"
            " input, while their architecture holds them transposed (Conv1D): transformers refuses"
            f" the format, {OWN_LOADER}"
        )
    rounding = [n for n, t in grid.items() if t.activation_bits and n in layout.experts]
    if rounding:
        said.append(
            f"{rounding[0]} and {len(rounding) - 1} other matrices of experts have their inputs"
            f" rounded too, which transformers does not load: {OWN_LOADER}"
        )
    packed = [n for n, t in grid.items() if not t.activation_bits]
    own = [layer for layer in packed if layer in layout.own_forward]
    if own:
        said.append(
            f"{own[0]} and {len(own) - 1} other layers are of a class that reads its weight by"
            f" itself: transformers loads them packed and fails when it runs, {OWN_LOADER}"
        )
    return said


def own_form_notes(child: Checkpoint) -> list[str]:
    """Layers in a form that pare alone reads, one sentence a form."""
    layers: dict[str, list[str]] = {}
    for name, tensor in child.stored.items():
        if tensor.OWN_LOADER is not None:
            layers.setdefault(tensor.OWN_LOADER, []).append(name)
    return [
        f"{names[0]} and {len(names) - 1} other layers are {how}, which transformers does not load:"
        f" {OWN_LOADER}"
        for how, names in layers.items()
    ]


def float_parts(child: Checkpoint, layout: Layout) -> list[dict[str, Any]]:
    """What no method has touched, by what it is: tensors and bytes as written, most bytes first."""
    tensors: Counter[str] = Counter()
    written: Counter[str] = Counter()
    for name in child.floats:
        part = layout.role(name)
        tensors[part] += 1
        written[part] += float_bytes(child, name)
    return [
        {"part": part, "tensors": tensors[part], "bytes": size}
        for part, size in written.most_common()
    ]


def left_in_floats(parts: Sequence[dict[str, Any]], total: int) -> str:
    """The same in a sentence. total: bytes of all tensors"""
    if not parts:
        return "nothing is left in floats"
    shares = [f"{one['part']} {size(one['bytes'])} ({one['bytes'] / total:.1%})" for one in parts]
    return f"left in floats, of {size(total)}: {', '.join(shares)}"


def size(count: int) -> str:
    """Bytes in the unit that a person would take."""
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"
