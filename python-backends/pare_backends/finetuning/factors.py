"""Low-rank factors beside linear layers, by peft: which layers, how zeros stay zero, and what they
make of the weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint import BitmaskTensor, Checkpoint
from pare_backends.checkpoint.adapter import Adapter
from pare_backends.checkpoint.reading_on import STATE_ALONE
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.pruning.unstructured import ZEROS_OF_PRUNING

if TYPE_CHECKING:
    import torch

PREFIX = "base_model.model."
OUT_PROJ_IS_READ = STATE_ALONE | {"falcon_h1", "nemotron_h"}
"""model_type of what peft takes no out_proj of (peft 0.21, tuners_utils.py)."""


def check_trainable(
    checkpoint: Checkpoint, context: Context, merge: bool, targets: str = "all"
) -> None:
    """Raises, before any work, where no factors can stand beside the parent's layers. targets: as
    of `chosen_layers`; a mixture's attention has plain layers"""
    layout = context.layout
    if checkpoint.adapter is not None:
        raise CallFailure(
            "invalid", "Cannot train an adapter: one lies beside the parent's weights already"
        )
    mixed = bool(layout.experts) and targets != "attention"
    if not layout.linear or mixed or layout.problems:
        said = "it has none, or they are a mixture's, of which attention alone is trained"
        why = layout.problems[0] if layout.problems else said
        raise CallFailure("invalid", f"Cannot train this model's linear layers: {why}")
    if merge:
        checkpoint.check_replaceable(layout.linear)


def check_adaptable(
    checkpoint: Checkpoint, context: Context, merge: bool, targets: str = "all"
) -> None:
    """As `check_trainable`, for factors that peft is to read: it refuses some layers in words of
    its own"""
    check_trainable(checkpoint, context, merge, targets)
    kind = str(checkpoint.config.get("model_type"))
    read = [name for name in context.layout.linear if name.rsplit(".", 1)[-1] == "out_proj"]
    if kind not in OUT_PROJ_IS_READ or not read or targets == "attention":
        return
    attends = "" if kind in STATE_ALONE else ", or train the attention alone by lora (targets)"
    raise CallFailure(
        "invalid",
        f"Cannot put factors beside {read[0]}: peft takes no out_proj of {kind}, which fused"
        " kernels read without calling it",
        hint=f"Take full, which trains the weights themselves{attends}",
    )


def chosen_layers(model: Any, targets: str, context: Context) -> tuple[str, ...]:
    """Linear layers by the words of `targets`: all, those inside of a module of attention, or mlp,
    which are the others."""
    layout = context.layout
    if targets == "all":
        return layout.linear
    attending = tuple(
        name
        for name, module in model.named_modules()
        if "attention" in type(module).__name__.lower()
    )
    inside = {
        layer
        for layer in layout.linear
        if any(layout.modules[layer].startswith(f"{name}.") for name in attending)
    }
    wanted = tuple(n for n in layout.linear if (n in inside) == (targets == "attention"))
    if not wanted:
        raise CallFailure(
            "invalid",
            f"Cannot train the {targets} layers: by the names of its modules, the model has none",
            hint='Set targets to "all"',
        )
    return wanted


def wrap(
    model: Any,
    layers: Sequence[str],
    context: Context,
    rank: int,
    alpha: int,
    dropout: float,
    dora: bool = False,
) -> Any:
    """The model with peft's layers around these ones; only the factors are trained.

    raises: CallFailure "invalid" where a layer is narrower than the rank
    """
    import torch
    from peft import LoraConfig, get_peft_model

    modules = [context.layout.modules[layer] for layer in layers]
    for layer, module in zip(layers, modules, strict=True):
        width = min(model.get_submodule(module).weight.shape)
        if rank > width:
            raise CallFailure(
                "invalid",
                f"Cannot train factors of rank {rank}: {layer} is {width} wide, so that more than"
                f" {width} directions say nothing new",
                hint=f"Take a rank of at most {width}",
            )
    torch.manual_seed(context.seed)
    config = LoraConfig(
        r=rank,
        lora_alpha=alpha,
        lora_dropout=dropout,
        use_dora=dora,
        target_modules=target_modules(model, modules),
        # The weights of a Conv1D lie as (in, out).
        fan_in_fan_out=bool(context.layout.transposed),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)


def target_modules(model: Any, modules: Collection[str]) -> list[str]:
    """The modules by the ends of their names, as adapters of others name them; in full where an end
    would take another module too."""
    ends = {name.rsplit(".", 1)[-1] for name in modules}
    taken = {name for name, _ in model.named_modules() if name.rsplit(".", 1)[-1] in ends}
    return sorted(ends if taken == set(modules) else modules)


def product(module: Any) -> torch.Tensor:
    """What the factors add to a layer's weight: (out, in)."""
    low, high = (half["default"].weight for half in (module.lora_A, module.lora_B))
    return module.scaling["default"] * (high @ low)


def magnitude(module: Any) -> torch.Tensor:
    """DoRA's length of each row of a layer's weight: (out,)."""
    return module.lora_magnitude_vector["default"].weight


def scaled(weight: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """DoRA's weight: rows of these lengths; a row of zeros stays one. weight: (out, in)"""
    import torch

    norm = torch.linalg.norm(weight, dim=1).detach()
    return weight * (lengths / torch.where(norm == 0, 1.0, norm)).unsqueeze(1)


def kept_weights(
    checkpoint: Checkpoint, layers: Sequence[str], context: Context
) -> dict[str, np.ndarray]:
    """Which weights of the pruned layers are not zero: of those stored by a bitmask, and of dense
    ones with more zeros than weights have by chance. returns: (out, in) bool each"""
    masked = checkpoint.in_form(BitmaskTensor)
    found: dict[str, np.ndarray] = {}
    for layer in layers:
        kept = context.matrix(checkpoint, layer) != 0
        if layer in masked or kept.mean() <= 1 - ZEROS_OF_PRUNING:
            found[layer] = kept
    return found


def keep_zeros(tuned: Any, kept: Mapping[str, np.ndarray], context: Context) -> None:
    """Trains pruned layers as they will be merged: what is zero in the parent stays zero."""
    import torch

    for layer, mask in kept.items():
        module = tuned.get_submodule(f"{PREFIX}{context.layout.modules[layer]}")
        factor = torch.from_numpy(mask.astype(np.float32)).to(tuned.device)
        module.forward = masked_forward(module, factor, layer in context.layout.transposed)


def masked_forward(module: Any, kept: torch.Tensor, transposed: bool) -> Any:
    """peft's forward pass of a layer, with the factors' product zero where the weight is."""
    from torch.nn.functional import linear

    def forward(inputs: torch.Tensor) -> torch.Tensor:
        base, drop = module.base_layer, module.lora_dropout["default"]
        delta = product(module) * kept
        if not module.use_dora["default"]:
            out: torch.Tensor = base(inputs) + linear(drop(inputs), delta)
            return out
        weight = base.weight.T if transposed else base.weight
        return linear(drop(inputs), scaled(weight + delta, magnitude(module)), base.bias)

    return forward


def tuned_weights(
    tuned: Any,
    checkpoint: Checkpoint,
    layers: Sequence[str],
    kept: Mapping[str, np.ndarray],
    context: Context,
    dora: bool = False,
) -> dict[str, np.ndarray]:
    """The layers' weights with the factors in them: (out, in) float32. LoRA's factors are rounded
    as an adapter stores them, so that both ways give one model."""
    modules = context.layout.modules
    deltas = {} if dora else dict(adapter_of(tuned).deltas())
    found: dict[str, np.ndarray] = {}
    for layer in layers:
        weight = context.matrix(checkpoint, layer)
        module = tuned.get_submodule(f"{PREFIX}{modules[layer]}")
        if dora:
            found[layer] = direction(module, weight, kept.get(layer))
        else:
            mask = kept.get(layer)
            delta = deltas[modules[layer]]
            found[layer] = weight + (delta if mask is None else delta * mask)
    return found


def direction(module: Any, weight: np.ndarray, kept: np.ndarray | None) -> np.ndarray:
    """DoRA's merged weight of one layer: (out, in) float32."""
    import torch

    with torch.no_grad():
        delta = product(module).cpu()
        if kept is not None:
            delta = delta * torch.from_numpy(kept.astype(np.float32))
        whole = scaled(torch.from_numpy(weight.copy()) + delta, magnitude(module).cpu())
    return checked(whole.numpy(), "the merged weights")


def with_weights(
    checkpoint: Checkpoint, weights: Mapping[str, np.ndarray], context: Context
) -> Checkpoint:
    """The checkpoint with these weights, (out, in) each, as its files hold them: pruned ones in the
    form that they are stored in."""
    floats: dict[str, np.ndarray] = {}
    masked: dict[str, BitmaskTensor] = {}
    pruned = checkpoint.in_form(BitmaskTensor)
    for layer, values in weights.items():
        weight = np.ascontiguousarray(values.T) if layer in context.layout.transposed else values
        if layer in pruned:
            masked[layer] = BitmaskTensor.of(weight)
        else:
            floats[f"{layer}.weight"] = weight
    return checkpoint.with_floats(floats).with_stored(masked)


def adapter_of(tuned: Any) -> Adapter:
    """What was trained, in peft's own names and words, as it is stored: float16."""
    from peft import get_peft_model_state_dict

    state = get_peft_model_state_dict(tuned)
    tensors = {name: half(name, value) for name, value in state.items()}
    config = tuned.peft_config["default"].to_dict()
    config["inference_mode"] = True
    config["base_model_name_or_path"] = None  # the weights that it lies beside
    plain = {key: sorted(v) if isinstance(v, set) else v for key, v in config.items()}
    return Adapter(plain, tensors)


def half(name: str, value: torch.Tensor) -> np.ndarray:
    """The matrix in float16; raises where that cannot hold it."""
    values: np.ndarray = value.detach().cpu().numpy()
    with np.errstate(over="ignore"):
        return checked(values.astype(np.float16), name, float(np.abs(values).max()))


def checked(values: np.ndarray, name: str, reach: float | None = None) -> np.ndarray:
    """The values; raises where one is none."""
    if not np.isfinite(values).all():
        said = "" if reach is None else f": its values reach {reach:.3g}"
        raise CallFailure(
            "not_a_number", f"Cannot store {name}{said}", hint="Lower the learning rate or alpha"
        )
    return values
