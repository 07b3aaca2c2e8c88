"""`quantization_config` of config.json, in compressed-tensors' words, from tensors and back."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pare_backends.checkpoint.forms.packing import packed_columns
from pare_backends.failures import CallFailure

PACKED = "pack-quantized"
INTEGERS = "int-quantized"
MIXED = "mixed-precision"
TRANSPOSED = "-transposed"
"""Ends the name of a format of our own: the model holds the weights as (in, out), their integers
lie as (out, in), as groups run along the input. compressed-tensors has no word for it and refuses
the name; under its own, transformers would leave these layers at random values, with a warning."""


@dataclass(frozen=True, order=True)
class Scheme:
    """What the tensors of one config group share."""

    bits: int
    group_size: int
    symmetric: bool
    activation_bits: int  # 0 = none: a key that sorts
    activation_group_size: int  # -1 = the whole row
    transposed: bool
    static_inputs: bool = False  # a scale for all inputs, fixed by calibration

    @property
    def format(self) -> str:
        form = INTEGERS if self.activation_bits else PACKED
        return f"{form}{TRANSPOSED}" if self.transposed else form


def quantization_config(quantized: Mapping[str, Scheme]) -> dict[str, Any]:
    """The document for these layers, keyed by module name; every layer is named as a target."""
    layers: dict[Scheme, list[str]] = {}
    for name, scheme in quantized.items():
        layers.setdefault(scheme, []).append(name)
    groups = {
        f"group_{number}": group_of(scheme, names)
        for number, (scheme, names) in enumerate(sorted(layers.items()))
    }
    formats = {scheme.format for scheme in layers}
    return {
        "quant_method": "compressed-tensors",
        "format": formats.pop() if len(formats) == 1 else MIXED,
        "quantization_status": "compressed",
        "config_groups": groups,
        "ignore": [],
        "kv_cache_scheme": None,
        "global_compression_ratio": None,
    }


def group_of(scheme: Scheme, names: list[str]) -> dict[str, Any]:
    """One config group."""
    by_group = scheme.group_size != -1
    weights = {
        "num_bits": scheme.bits,
        "type": "int",
        "symmetric": scheme.symmetric,
        "strategy": "group" if by_group else "channel",
        "group_size": scheme.group_size if by_group else None,
        "dynamic": False,
    }
    inputs_by_group = scheme.activation_group_size != -1
    activations = {
        "num_bits": scheme.activation_bits,
        "type": "int",
        "symmetric": True,
        "strategy": "group" if inputs_by_group else "token",
        "group_size": scheme.activation_group_size if inputs_by_group else None,
        "dynamic": True,
    }
    if scheme.static_inputs:
        activations |= {"strategy": "tensor", "group_size": None, "dynamic": False}
    return {
        "targets": names,
        "weights": weights,
        "input_activations": activations if scheme.activation_bits else None,
        "output_activations": None,
        "format": scheme.format,
    }


def group_naming(config: Mapping[str, Any], layer: str) -> Mapping[str, Any] | None:
    """The config group that a layer belongs to; None where no group names it."""
    groups = (config.get("quantization_config") or {}).get("config_groups") or {}
    found = (group for group in groups.values() if names_layer(group.get("targets", ()), layer))
    return next(found, None)


def declared_bits(config: Mapping[str, Any], layer: str, words: int, columns: int) -> int:
    """Declared bits of a packed layer. They cannot be told from the packed width: a row of 16
    weights takes one word at 1 bit and at 2.

    words: 32-bit words of a packed row, which must be as many as `columns` weights take
    """
    group = group_naming(config, layer)
    bits = None if group is None else (group.get("weights") or {}).get("num_bits")
    if not isinstance(bits, int):
        raise CallFailure(
            "bad_input", f"Cannot read {layer}: config.json declares no bits for its packed weights"
        )
    if words != packed_columns(columns, bits):
        raise CallFailure(
            "bad_input",
            f"Cannot read {layer}: a row of {columns} weights at {bits} bits takes"
            f" {packed_columns(columns, bits)} words, the file has {words}",
        )
    return bits


def input_rounding(config: Mapping[str, Any], layer: str) -> tuple[int, int] | None:
    """(bits, columns that share a scale: -1 = the whole row) of the declared quantization of a
    layer's inputs; None where it has none."""
    group = group_naming(config, layer)
    inputs = None if group is None else group.get("input_activations")
    return (
        None if inputs is None else (int(inputs["num_bits"]), int(inputs.get("group_size") or -1))
    )


def is_transposed(config: Mapping[str, Any], layer: str) -> bool:
    """Whether the model holds a quantized layer's weight as (in, out)."""
    group = group_naming(config, layer)
    return group is not None and str(group.get("format")).endswith(TRANSPOSED)


def names_layer(targets: Collection[str], layer: str) -> bool:
    """Whether a group's targets name the layer, by name, by class or by `re:` pattern."""
    if layer in targets or "Linear" in targets:
        return True
    return any(t.startswith("re:") and re.match(t[3:], layer) for t in targets)
