"""A checkpoint as a torch model that computes with the weights the file stands for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pare_backends.checkpoint.adapter import Adapter
from pare_backends.checkpoint.empty_model import empty_model, trusts_remote_code
from pare_backends.checkpoint.files import Checkpoint, read
from pare_backends.checkpoint.forms import GridTensor
from pare_backends.checkpoint.generation_settings import generation_settings
from pare_backends.checkpoint.linear_modules import separate_experts
from pare_backends.checkpoint.own_files import check_directory
from pare_backends.checkpoint.setting import source_of
from pare_backends.failures import CallFailure

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
INT8 = (-128, 127)
HALF_RANGE = 127.5
"""Half the steps between the ends of `INT8`, which the largest input of a group is laid on."""
ROUNDS_INPUTS = "pare_rounds_inputs"
"""A model's attribute: whether its layers round what comes in."""


def load_tokenizer(directory: str | Path) -> Any:
    """The tokenizer of a checkpoint directory, which holds no file of another place."""
    from transformers import AutoTokenizer

    check_directory(directory)

    return AutoTokenizer.from_pretrained(
        str(directory), trust_remote_code=trusts_remote_code(), local_files_only=True
    )


def load_dequantized(
    directory: str | Path, weights_dir: str | Path | None = None
) -> tuple[Any, Any]:
    """(model in float32 in eval mode, tokenizer), running as the directory's setting says where it
    holds one. weights_dir: where the weights of a setting lie; None: beside it.

    Weights in a stored form are decoded. Where the checkpoint declares quantized activations, the
    inputs of those layers are rounded as compressed-tensors, whose format it is, rounds them.
    transformers' own loader is not used for quantized tensors: it cannot tie an output head to a
    packed embedding, and it would compute in float16.
    """
    source = source_of(str(directory), None if weights_dir is None else str(weights_dir))
    place = source.weights_dir
    return source.attach(load_model(read(place), place)), load_tokenizer(place)


def load_model(checkpoint: Checkpoint, directory: str | Path) -> Any:
    """The torch model of a checkpoint that was read from `directory`."""
    import torch

    skeleton = empty_model(directory)
    state = {name: as_tensor(checkpoint.floats[name]) for name in checkpoint.floats}
    for layer in checkpoint.stored:
        state[f"{layer}.weight"] = as_tensor(checkpoint.weight(layer))
    model, info = type(skeleton).from_pretrained(
        None,
        config=skeleton.config,
        state_dict=state,
        dtype=torch.float32,
        output_loading_info=True,
    )
    check_complete(directory, info["missing_keys"])
    if checkpoint.adapter is not None:
        add_adapter(model, checkpoint.adapter)
    # Libraries look the model's own files up by this: without it they would ask the hub.
    model.config._name_or_path = model.name_or_path = str(directory)
    if model.can_generate():
        model.generation_config = generation_settings(directory)
    declared = {
        layer: tensor
        for layer, tensor in checkpoint.in_form(GridTensor).items()
        if tensor.activation_bits is not None
    }
    modules = by_module(model, declared)
    quantize_inputs(
        model,
        {module: tensor.activation_group_size for module, tensor in modules.items()},
        {module: tensor.activation_scale for module, tensor in modules.items()},
    )
    return model.eval()


def add_adapter(model: Any, adapter: Adapter) -> None:
    """Adds what an adapter says to the weights of its modules, in place."""
    import torch

    for name, delta in adapter.deltas():
        weight = model.get_submodule(name).weight
        # A Conv1D holds its weight as (in, out); a square one is told by its class.
        added = delta if isinstance(model.get_submodule(name), torch.nn.Linear) else delta.T
        if weight.shape != added.shape:
            raise CallFailure(
                "bad_input",
                f"Cannot add the adapter to {name}: its weight is {tuple(weight.shape)}, the"
                f" adapter's {added.shape}",
                hint="The adapter belongs to another model",
            )
        with torch.no_grad():
            weight += torch.from_numpy(np.ascontiguousarray(added))


def check_complete(directory: str | Path, missing: Collection[str]) -> None:
    """Raises where a parameter would be left at what it was drawn as."""
    if missing:
        raise CallFailure(
            "bad_input",
            f"Cannot load {directory}: its files hold nothing for {min(missing)}"
            f" ({len(missing)} parameters are missing)",
            hint="The checkpoint is incomplete: copy or make it again",
        )


def by_module(model: Any, layers: Mapping[str, T]) -> dict[str, T]:
    """The same by the modules that compute with the layers; a mixture's experts become modules of
    their own."""
    from pare_backends.models.layout import model_layout

    if not layers:
        return {}
    layout = model_layout(model, [f"{layer}.weight" for layer in layers])
    if layout.experts:
        separate_experts(model)
    unknown = sorted(set(layers) - set(layout.modules))
    if unknown:
        raise CallFailure(
            "bad_input", f"Cannot round the inputs of {unknown[0]}: the model has no such layer"
        )
    return {layout.modules[layer]: value for layer, value in layers.items()}


def as_tensor(values: np.ndarray) -> torch.Tensor:
    """A torch tensor; floating point as float32."""
    import torch

    # Not `ascontiguousarray`, which makes a vector of a single number.
    tensor = torch.from_numpy(np.asarray(values, order="C"))
    return tensor.float() if tensor.is_floating_point() else tensor


def quantize_inputs(
    model: Any, groups: Mapping[str, int], fixed: Mapping[str, float | None] | None = None
) -> None:
    """Rounds the inputs of these modules to 8 bits as they come, by their group sizes; those that
    have a fixed scale, by that."""
    import torch

    scales = fixed or {}

    def rounder(group_size: int, scale: float | None) -> Any:
        def round_first(
            module: Any, arguments: tuple[torch.Tensor, ...]
        ) -> tuple[torch.Tensor, ...] | None:
            if not getattr(model, ROUNDS_INPUTS):
                return None
            given = arguments[0]
            if scale is not None:
                return (round_static(given, scale), *arguments[1:])
            return (round_inputs(given, group_size), *arguments[1:])

        return round_first

    setattr(model, ROUNDS_INPUTS, bool(groups))
    for name, group in groups.items():
        module = model.get_submodule(name)
        if not isinstance(module, torch.nn.Embedding):
            module.register_forward_pre_hook(rounder(group, scales.get(name)))


@contextmanager
def inputs_as_they_are(model: Any) -> Iterator[None]:
    """Leaves rounding out for a while: where two ways of computing are compared, it would turn the
    last bits that they differ by into whole steps."""
    rounds = getattr(model, ROUNDS_INPUTS, False)
    setattr(model, ROUNDS_INPUTS, False)
    try:
        yield
    finally:
        setattr(model, ROUNDS_INPUTS, rounds)


def round_inputs(inputs: torch.Tensor, group_size: int) -> torch.Tensor:
    """Inputs after a round trip through int8, a scale for each group of a token's features.

    The rule is that of the format's own library, compressed-tensors: scale = largest / 127.5, and
    the largest value is cut off. OpenVINO and vLLM divide by 127: how far a runtime's logits are
    from these is measured there.
    inputs: (…, features); group_size -1: all features; returns: the same shape and dtype
    """
    import torch

    width = inputs.shape[-1] if group_size == -1 else group_size
    groups = inputs.unflatten(-1, (-1, width))  # (…, g, width)
    scale = groups.abs().amax(dim=-1, keepdim=True) / HALF_RANGE
    scale = torch.where(scale == 0, 1.0, scale)
    return (torch.round(torch.clamp(groups / scale, *INT8)) * scale).flatten(-2)


def round_static(inputs: torch.Tensor, scale: float) -> torch.Tensor:
    """Inputs after a round trip through int8 with one scale, those beyond its range cut off.

    returns: the same shape and dtype
    """
    import torch

    return torch.clamp(torch.round(inputs / scale), -128, 127) * scale
