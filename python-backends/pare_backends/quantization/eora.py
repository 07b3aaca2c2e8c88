"""EoRA (Liu et al. 2024, arXiv 2410.21271): low-rank factors beside rounded or pruned weights,
which take back what that changed in the layers' outputs. In closed form: nothing is trained.

What they lead back to is the model before the rounding and pruning: the original, or what a chain
had cut and trained by then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pare_backends.checkpoint import Checkpoint, read
from pare_backends.checkpoint.adapter import Adapter
from pare_backends.device import on_device
from pare_backends.failures import CallFailure
from pare_backends.finetuning.factors import PREFIX, check_adaptable, checked, target_modules
from pare_backends.knobs import declared_knobs
from pare_backends.methods.context import Context
from pare_backends.pruning.block_pass import Block, BlockPass, Inputs
from pare_backends.quantization.correction.eigenspace import factors, weighted_error
from pare_backends.quantization.folding.statistics import gather, read_statistics


@declared_knobs
class Params:
    """Knobs, as plugins/quantization/eora.ts declares them."""

    rank: int
    samples: int


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> Checkpoint:
    """The checkpoint as it is, with factors beside its linear layers; each block's are found on the
    outputs of those that are corrected already."""
    check_adaptable(checkpoint, context, merge=False)
    reference = reference_of(checkpoint, context)
    check_rank(reference, params.rank, context)
    windows = context.calibration(params.samples)
    model, windows = on_device(context.load_linear(checkpoint)[0], windows)
    modules = {layer: context.layout.modules[layer] for layer in context.layout.linear}
    work = Work(params, context, checkpoint, reference, model, modules)
    with context.report.span("correct"):
        BlockPass(model, modules, gather).run(windows, work.block)
    lost, left = work.lost, work.left
    share = "nothing was lost" if lost == 0 else f"{left / lost:.1%} of the lost squares are left"
    context.notes.append(
        f"EoRA corrects {len(modules)} layers by factors of rank {params.rank}: {share} on"
        f" {params.samples} calibration windows"
    )
    return replace(checkpoint, adapter=adapter_of(work, model, context))


def reference_of(checkpoint: Checkpoint, context: Context) -> Checkpoint:
    """The model before it was rounded or pruned; raises where it was not, or where the reference's
    layers are no layers of this one's."""
    if context.reference_dir is None:
        raise CallFailure("bad_input", "Cannot correct: no reference was given with the action")
    if context.reference_dir == context.parent_dir:
        raise CallFailure(
            "invalid",
            "Cannot correct this model: nothing has rounded or pruned it since it was given or"
            " trained",
            hint="Let eora follow on what rounds or prunes",
        )
    reference = read(context.reference_dir)
    why = None
    for layer in context.layout.linear:
        held = layer in reference.stored or f"{layer}.weight" in reference.floats
        if not held or reference.shape(layer) != checkpoint.shape(layer):
            why = f"{layer} has another shape than it had: factors mend no cut"
            break
    for name in checkpoint.floats:
        small = len(checkpoint.float_shape(name)) == 1
        if why is None and small and name in reference.floats:
            own, other = (
                np.asarray(one.floats[name], np.float32) for one in (checkpoint, reference)
            )
            if own.shape != other.shape or np.abs(own - other).max() > 1e-2 * np.abs(other).max():
                why = (
                    f"{name} is not what it was: scales are folded into it, so that the layers'"
                    " inputs are others"
                )
    if why is not None:
        raise CallFailure(
            "invalid",
            f"Cannot correct towards the model before: {why}",
            hint="Correct what rounds or prunes weights and leaves norms and shapes as they were",
        )
    return reference


def check_rank(reference: Checkpoint, rank: int, context: Context) -> None:
    """Raises where a layer is narrower than the rank."""
    for layer in context.layout.linear:
        width = min(reference.shape(layer))
        if rank > width:
            raise CallFailure(
                "invalid",
                f"Cannot correct by factors of rank {rank}: {layer} is {width} wide",
                hint=f"Take a rank of at most {width}",
            )


@dataclass
class Work:
    """Block after block: the factors, then the model with them."""

    params: Params
    context: Context
    checkpoint: Checkpoint
    reference: Checkpoint
    model: Any
    modules: Mapping[str, str]  # by layer
    made: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)  # (B, A) float16
    lost: float = 0.0  # squares of the outputs' differences, without the factors
    left: float = 0.0  # and with them

    def block(self, block: Block, inputs: Mapping[str, Inputs]) -> bool:
        """Corrects a block's layers; says that the model has changed."""
        import torch

        known = {id(held): read_statistics(held) for held in inputs.values()}
        for layer in block.layers:
            products = known[id(inputs[layer])].products.double().numpy()
            own, other = (self.context.matrix(c, layer) for c in (self.checkpoint, self.reference))
            difference = other - own
            high, low = (
                half(one, layer) for one in factors(difference, products, self.params.rank)
            )
            self.made[layer] = (high, low)
            delta = high.astype(np.float32) @ low.astype(np.float32)
            self.tell(layer, difference, delta, products)
            weight = self.model.get_submodule(self.modules[layer]).weight
            weight += torch.from_numpy(delta).to(weight.device)
            self.context.report.progress("correct", len(self.made), len(self.modules), "layers")
        return True

    def tell(
        self, layer: str, difference: np.ndarray, delta: np.ndarray, products: np.ndarray
    ) -> None:
        """Counts what was lost, and what of it is left."""
        lost = weighted_error(difference, products)
        left = weighted_error(difference - delta, products)
        self.lost, self.left = self.lost + lost, self.left + left
        self.context.figure("error_left", left / lost if lost > 0 else 0.0, layer=layer)


def half(values: np.ndarray, layer: str) -> np.ndarray:
    """The factor as it is stored."""
    with np.errstate(over="ignore"):
        return checked(values.astype(np.float16), f"a factor of {layer}")


def adapter_of(work: Work, model: Any, context: Context) -> Adapter:
    """The factors in peft's own names and words."""
    from peft import LoraConfig

    config = LoraConfig(
        r=work.params.rank,
        lora_alpha=work.params.rank,
        target_modules=target_modules(model, list(work.modules.values())),
        fan_in_fan_out=bool(context.layout.transposed),
        inference_mode=True,
        task_type="CAUSAL_LM",
    ).to_dict()
    plain = {key: sorted(v) if isinstance(v, set) else v for key, v in config.items()}
    tensors: dict[str, np.ndarray] = {}
    for layer, (high, low) in work.made.items():
        name = f"{PREFIX}{work.modules[layer]}"
        tensors[f"{name}.lora_A.weight"] = low
        tensors[f"{name}.lora_B.weight"] = high
    return Adapter(plain, tensors)
