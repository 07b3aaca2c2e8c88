"""The configuration of what a cut leaves: whether transformers builds it, with the shapes that the
tensors then have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.file_names import filled_parameters
from pare_backends.failures import CallFailure, one_line


def config_object(config: Mapping[str, Any]) -> Any:
    """transformers' own object of a config.json: with defaults, and what follows from them.

    raises: CallFailure "invalid" where its checks refuse it
    """
    from transformers import AutoConfig

    kind = str(config["model_type"])
    own = {key: in_floats(value) for key, value in config.items() if key != "model_type"}
    try:
        return AutoConfig.for_model(kind, **own)
    except Exception as error:
        # transformers' checks raise a dozen types.
        raise unbuilt(kind, error) from error


def in_floats(value: Any) -> Any:
    """A value of a config.json with the floats that transformers writes as objects, as JSON has no
    numbers for them: of Mamba 2 the end of time_step_limit, {"__float__": "Infinity"}."""
    if isinstance(value, list):
        return [in_floats(one) for one in value]
    if isinstance(value, dict):
        tagged = list(value) == ["__float__"]
        return float(value["__float__"]) if tagged else {k: in_floats(v) for k, v in value.items()}
    return value


def check_built(config: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raises where transformers would build this configuration with other parameters than these
    tensors fill, or with other shapes: where something else depends on what was cut too.

    shapes: of every tensor of the files after the cut, by name
    """
    import torch
    from transformers import AutoModelForCausalLM

    kind = str(config["model_type"])
    made = config_object(config)
    try:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(made)
    except Exception as error:
        raise unbuilt(kind, error) from error
    filled = filled_parameters(model, list(shapes))
    parameters = dict(model.named_parameters())
    for name, place in filled.items():
        if place.expert is None and place.problem is None:
            wanted = tuple(parameters[place.parameter].shape)
            if wanted != shapes[name]:
                raise CallFailure(
                    "invalid",
                    f"Cannot cut this {kind}: {name} would need the shape {list(wanted)} in a plain"
                    f" model of the new widths, where cutting leaves {list(shapes[name])}",
                )
    empty = sorted(set(parameters) - {place.parameter for place in filled.values()})
    if empty:
        raise CallFailure(
            "invalid",
            f"Cannot cut this {kind}: a plain model of the new configuration has {empty[0]}, which"
            " no tensor would fill",
        )


def unbuilt(kind: str, error: Exception) -> CallFailure:
    """The refusal of a configuration that transformers does not build."""
    return CallFailure(
        "invalid",
        f"Cannot cut this {kind}: transformers builds no plain model of what would be left"
        f" ({one_line(error, 160)})",
    )


def check_floats(checkpoint: Checkpoint, what: str) -> None:
    """Raises where weights are in a stored form or have an adapter: what is cut is plain floats.

    what: channels, or blocks
    """
    if checkpoint.adapter is not None:
        raise CallFailure(
            "invalid",
            f"Cannot cut {what}: an adapter lies beside the parent's weights",
            hint="Merge the adapter (merge: true): its weights can be cut",
        )
    for layer, tensor in checkpoint.stored.items():
        raise CallFailure(
            "invalid",
            f"Cannot cut {what} of {layer}: it is {tensor.STATE} already in the parent, and plain"
            " floats are cut",
            hint=f"Cut {what} first",
        )
