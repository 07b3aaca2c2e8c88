"""Which tensor of a checkpoint's files fills which parameter of the model.

Files keep the names that an architecture had when its first checkpoints were written, and hold
experts one by one where the model stacks them: transformers translates when it loads, and is asked
here for its own translation, key by key.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pare_backends.checkpoint.forms import weight_name

STACKED = (("MergeModulelist",), ("MergeModulelist", "Concatenate"))
"""Translations that lay an expert's matrices into the model's stack as they are, side by side."""


@dataclass(frozen=True)
class Filled:
    """Where a tensor of the files goes."""

    parameter: str  # of the model, such as model.layers.0.mlp.experts.gate_up_proj
    expert: int | None  # the expert whose matrix it is; None where it is the whole parameter
    share: int  # an expert's matrices lie in this order in the parameter: 0 = gate, 1 = up
    problem: str | None  # why it is not the parameter, or an expert's matrix, as it is


def stored_names(names: Collection[str]) -> list[str]:
    """Tensors of a checkpoint's files, each once whatever parts it is stored in."""
    return list(dict.fromkeys(weight_name(name) for name in names))


def filled_parameters(model: Any, names: Collection[str]) -> dict[str, Filled]:
    """By tensor name, in the order of `names`; what fills no parameter is left out.

    model: the architecture, on whatever device
    names: tensors as in files, without parts
    """
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import (
        WeightConverter,
        WeightRenaming,
        rename_source_key,
    )

    transforms = get_model_conversion_mapping(model)
    renamings = [entry for entry in transforms if isinstance(entry, WeightRenaming)]
    converters = [entry for entry in transforms if isinstance(entry, WeightConverter)]
    state = model.state_dict(keep_vars=True)
    parameters = {id(value): name for name, value in model.named_parameters()}
    prefix = model.base_model_prefix
    found: dict[str, Filled] = {}
    for name in names:
        renamed, pattern = rename_source_key(name, renamings, converters, prefix, state)
        if renamed not in state:
            # As transformers' own loader does: it may need the prefix alone.
            renamed, pattern = rename_source_key(name, [], [], prefix, state)
        parameter = parameters.get(id(state.get(renamed)))
        if parameter is None:
            continue  # a buffer, or nothing that this version of the architecture has
        converter = next((c for c in converters if pattern in c.source_patterns), None)
        found[name] = (
            Filled(parameter, None, 0, None)
            if pattern is None or converter is None
            else converted(name, parameter, pattern, converter)
        )
    return found


def converted(name: str, parameter: str, pattern: str, converter: Any) -> Filled:
    """A tensor that is part of a parameter."""
    share = converter.source_patterns.index(pattern)
    operations = tuple(type(operation).__name__ for operation in converter.operations)
    numbers = [int(n) for n in re.findall(r"\.(\d+)\.", name)]
    if operations not in STACKED or not numbers or "*" not in pattern:
        problem = (
            f"its file holds {name}, which transformers rebuilds by {' and '.join(operations)}"
        )
        return Filled(parameter, None, share, problem)
    # The last number of a name such as model.layers.7.mlp.experts.3.up_proj.weight.
    return Filled(parameter, numbers[-1], share, None)
