"""Stored forms: one file a form, and the list of them. A further form is its file and a line here.

Needs numpy alone, as reading a checkpoint does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from pare_backends.checkpoint.forms.bitmask import BitmaskTensor
from pare_backends.checkpoint.forms.form import StoredTensor
from pare_backends.checkpoint.forms.ggml import GgmlTensor
from pare_backends.checkpoint.forms.grid import GridTensor
from pare_backends.checkpoint.forms.lattice import LatticeTensor
from pare_backends.checkpoint.forms.ordered import OrderedTensor
from pare_backends.checkpoint.forms.seeds import SeedTensor
from pare_backends.checkpoint.forms.table import TableTensor
from pare_backends.checkpoint.forms.vectors import VectorTensor
from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.failures import CallFailure

__all__ = [
    "CONFIG_KEYS",
    "OWN_FORMS",
    "BitmaskTensor",
    "GgmlTensor",
    "GridTensor",
    "LatticeTensor",
    "OrderedTensor",
    "SeedTensor",
    "StoredTensor",
    "TableTensor",
    "VectorTensor",
    "form_entries",
    "forms_by_layer",
    "own_forms",
    "read_forms",
    "weight_name",
]

REGISTERED: tuple[type[StoredTensor], ...] = (
    GridTensor,
    BitmaskTensor,
    SeedTensor,
    LatticeTensor,
    TableTensor,
    VectorTensor,
    GgmlTensor,
    OrderedTensor,
)
OWN_FORMS = "pare_stored_forms"
"""Key of config.json: forms of pare's own, by name, with their layers."""
CONFIG_KEYS = ("quantization_config", OWN_FORMS)
"""Keys of config.json that tell how weights are stored, not which model it is."""

ENDINGS = sorted({part.removeprefix(".weight") for form in REGISTERED for part in form.PARTS})
PART = re.compile(rf"(?<=\.weight)({'|'.join(e for e in ENDINGS if e.startswith('_'))})$")
INPUT_SCALE = re.compile(r"\.input_scale$")
"""Of a layer's inputs, which compressed-tensors does not name after the weight."""


def weight_name(tensor: str) -> str:
    """The weight that a tensor of the files is, or is a part of."""
    return INPUT_SCALE.sub(".weight", PART.sub("", tensor))


def forms_by_layer(names: Collection[str]) -> dict[str, type[StoredTensor]]:
    """Layers that files with tensors of these names hold in a stored form; the others are plain
    floats."""
    return {layer: form for form in REGISTERED for layer in form.layers(names)}


def own_forms(config: Mapping[str, Any]) -> list[str]:
    """Names of the forms that pare alone reads, as config.json declares them."""
    declared = config.get(OWN_FORMS)
    return sorted(declared) if isinstance(declared, dict) else []


def read_forms(
    stored: StoredTensors, config: Mapping[str, Any]
) -> tuple[dict[str, StoredTensor], set[str]]:
    """(layers that are not plain floats, names of the tensors that they are made of).

    raises: CallFailure where config.json declares a form of a later pare, or one that a layer's
    parts are gone of
    """
    known = [form.FORM for form in REGISTERED]
    for name in own_forms(config):
        if name not in known:
            raise CallFailure(
                "bad_input",
                f"Cannot read the checkpoint: its weights are stored as {name!r}, this pare knows"
                f" {', '.join(known)}",
                hint="Read it with the pare that wrote it, or a later one",
            )
    forms = forms_by_layer(stored.entries)
    check_declared(forms, config)
    tensors = {layer: form.read(stored, layer, config) for layer, form in forms.items()}
    used = {f"{layer}{part}" for layer, form in forms.items() for part in form.PARTS}
    return tensors, used


def check_declared(forms: Mapping[str, type[StoredTensor]], config: Mapping[str, Any]) -> None:
    """Raises where a layer is declared to be in a form of pare's own and what tells so in its file
    is gone: its code would be taken for floats."""
    for name in own_forms(config):
        declared = config[OWN_FORMS][name]
        for layer in declared.get("layers", ()) if isinstance(declared, dict) else ():
            if layer not in forms or name != forms[layer].FORM:
                raise CallFailure(
                    "bad_input",
                    f"Cannot read {layer}: config.json says that it is stored as {name}, its file"
                    " does not hold it so",
                    hint="The checkpoint is damaged: copy or make it again",
                )


def form_entries(tensors: Mapping[str, StoredTensor]) -> dict[str, Any]:
    """What config.json says of these layers, by its keys."""
    entries: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for form in REGISTERED:
        held = {name: tensor for name, tensor in tensors.items() if isinstance(tensor, form)}
        if not held:
            continue
        if form.OWN_LOADER is None:
            entries |= form.config_entry(held)
        else:
            own[form.FORM] = form.config_entry(held)
    return entries | ({OWN_FORMS: own} if own else {})
