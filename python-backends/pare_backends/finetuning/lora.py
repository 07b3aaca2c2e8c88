"""LoRA (Hu et al. 2021, arXiv 2106.09685) by peft: trains a low-rank matrix beside every linear
layer on windows of text, then adds it to the weights or keeps it beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint import BitmaskTensor, Checkpoint
from pare_backends.checkpoint.adapter import Adapter
from pare_backends.failures import StageFailure
from pare_backends.finetuning.steps import train
from pare_backends.knobs import flag, integer, real
from pare_backends.methods.context import Context

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Params:
    """Knobs; the same as in plugins/finetuning/lora.ts."""

    rank: int = integer(8, minimum=1, maximum=64, unit="columns of each low-rank factor")
    alpha: int = integer(16, minimum=1, maximum=128, unit="scale of the product, times the rank")
    lr: float = real(2e-4, minimum=1e-5, maximum=5e-3, unit="step of AdamW at the start")
    steps: int = integer(20, minimum=20, maximum=200, unit="steps, a window each")
    tokens: int = integer(256, minimum=16, maximum=2048, unit="tokens of a window")
    merge: bool = flag(True)


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """The checkpoint with the trained matrices in its weights, or beside them as an adapter."""
    layers = context.layout.linear
    check(checkpoint, params, context)
    windows = context.training(params.tokens)
    model, _ = context.load(checkpoint)
    tuned = wrap(model, params, context)
    if params.merge:
        keep_zeros(tuned, checkpoint, context)
    losses = train(tuned, windows, params.steps, params.lr, context)
    context.notes.append(
        f"LoRA took {params.steps} steps on {len(windows)} training windows of {params.tokens}"
        f" tokens: loss {losses[0]:.4f} at the first, {losses[-1]:.4f} at the last"
    )
    adapter = adapter_of(tuned)
    if not params.merge:
        return replace(checkpoint, adapter=adapter)
    deltas = dict(adapter.deltas())
    turned = context.layout.transposed
    added = {layer: deltas[context.layout.modules[layer]] for layer in layers}
    return merged(checkpoint, {layer: d.T if layer in turned else d for layer, d in added.items()})


def check(checkpoint: Checkpoint, params: Params, context: Context) -> None:
    """Raises, before any work, where the parent cannot be trained so."""
    layout = context.layout
    if checkpoint.adapter is not None:
        raise StageFailure(
            "invalid", "Cannot train an adapter: one lies beside the parent's weights already"
        )
    if not layout.linear or layout.experts or layout.problems:
        why = layout.problems[0] if layout.problems else "it has none, or they are a mixture's"
        raise StageFailure("invalid", f"Cannot train this model's linear layers: {why}")
    if params.merge:
        checkpoint.check_replaceable(layout.linear)


def wrap(model: Any, params: Params, context: Context) -> Any:
    """The model with peft's layers around its linear ones; only these are trained."""
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(context.seed)
    config = LoraConfig(
        r=params.rank,
        lora_alpha=params.alpha,
        lora_dropout=0.0,
        target_modules=target_modules(model, context),
        # The weights of a Conv1D lie as (in, out).
        fan_in_fan_out=bool(context.layout.transposed),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)


def target_modules(model: Any, context: Context) -> list[str]:
    """The linear layers by the ends of their names, as adapters of others name them; in full where
    an end would take another module too."""
    modules = {context.layout.modules[layer] for layer in context.layout.linear}
    ends = {name.rsplit(".", 1)[-1] for name in modules}
    taken = {name for name, _ in model.named_modules() if name.rsplit(".", 1)[-1] in ends}
    return sorted(ends if taken == modules else modules)


def keep_zeros(tuned: Any, checkpoint: Checkpoint, context: Context) -> None:
    """Trains a pruned layer as it will be merged: what is zero in the parent adds nothing."""
    import torch
    from torch.nn.functional import linear

    def hook(gone: torch.Tensor) -> Any:
        def without(module: Any, arguments: tuple[torch.Tensor, ...], output: torch.Tensor) -> Any:
            low, high = (half["default"].weight for half in (module.lora_A, module.lora_B))
            outside = module.scaling["default"] * (high @ low) * gone
            return output - linear(arguments[0], outside)

        return without

    for layer in checkpoint.in_form(BitmaskTensor):
        if layer in context.layout.linear:
            gone = torch.from_numpy((context.matrix(checkpoint, layer) == 0).astype(np.float32))
            name = f"base_model.model.{context.layout.modules[layer]}"
            tuned.get_submodule(name).register_forward_hook(hook(gone))


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
        stored = values.astype(np.float16)
    if not np.isfinite(stored).all():
        raise StageFailure(
            "not_a_number",
            f"Cannot store {name}: its values reach {np.abs(values).max():.3g}",
            hint="Lower lr or alpha",
        )
    return stored


def merged(checkpoint: Checkpoint, deltas: Mapping[str, np.ndarray]) -> Checkpoint:
    """The deltas added to the weights, each as the model holds its layer; what pruning made zero
    stays zero, in the form that it is stored in."""
    floats: dict[str, np.ndarray] = {}
    masked: dict[str, BitmaskTensor] = {}
    pruned = checkpoint.in_form(BitmaskTensor)
    for layer, delta in deltas.items():
        weight = checkpoint.weight(layer) + delta
        if layer in pruned:
            masked[layer] = BitmaskTensor.of(np.where(pruned[layer].kept(), weight, 0))
        else:
            floats[f"{layer}.weight"] = weight
    return checkpoint.with_floats(floats).with_stored(masked)
