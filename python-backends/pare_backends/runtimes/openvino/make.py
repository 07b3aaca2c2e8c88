"""Makes the form of openvino: the architecture as a graph that holds no weights.

The model is made from its config with seeded random
weights, so that every weight of the graph is known by its values and none can be mistaken for
another; each is then replaced by a named input. `graph_weights.py` puts an artifact's own
weights in their place, and a weight that was forgotten cannot run.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from pare_backends.checkpoint.own_code import runs_code
from pare_backends.failures import CallFailure
from pare_backends.progress import Report
from pare_backends.runtimes.openvino.graph_directory import GRAPH_FILE, WEIGHTS_FILE

if TYPE_CHECKING:
    import openvino
    import torch

INPUT_PREFIX = "weight:"
LARGEST_OWN_CONSTANT = 1024
"""Bytes up to which a constant of the graph may belong to the graph and not to the model."""

GRAPH_BYTES = 20_000_000
"""Room that the graph takes beside its weights, at most."""
NEARLY_FULL_BYTES = 1_000_000


def make(
    artifact: Path, output: Path, exact: bool, report: Report, precision: str | None = None
) -> list[str]:
    """Writes `openvino_model.xml`, `.bin` and `weights.json`, of the artifact's config.json alone.

    exact, precision: change nothing, the graph holds no weights; returns: no notes
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    config = _read_config(artifact)
    with report.span("import", library=True):
        from optimum.exporters.openvino import export_from_model
        from transformers import AutoConfig, AutoModelForCausalLM
    report.progress("graph", 0, 3, "steps")
    with (
        report.span("export", library=True),
        TemporaryDirectory(dir=output) as folder,
        naming_a_full_disk(output),
    ):
        (Path(folder) / "config.json").write_text(json.dumps(config))
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder)).float().eval()
        check_disk(output, 4 * model.num_parameters() + GRAPH_BYTES)
        fill_weights(model, seed=0)
        report.progress("graph", 1, 3, "steps")
        export_from_model(model, folder, task="text-generation-with-past", stateful=True)
        report.progress("graph", 2, 3, "steps")
        weights = strip_weights(Path(folder) / GRAPH_FILE, output / GRAPH_FILE, model)
        content = {"version": 1, "config": config, "weights": weights}
        (output / WEIGHTS_FILE).write_text(json.dumps(content, indent=1) + "\n")
    report.progress("graph", 3, 3, "steps")
    return []


def check_disk(output: Path, needed: int) -> None:
    """Raises where the disk cannot hold the graph with its weights, before they are written."""
    free = shutil.disk_usage(output).free
    if free < needed:
        raise CallFailure(
            "disk_full",
            f"Cannot export a graph to {output}: {needed / 1e9:.2f} GB may be needed,"
            f" {free / 1e9:.2f} GB are free",
            hint="Free space, or set PARE_HOME to a larger disk",
        )


@contextmanager
def naming_a_full_disk(output: Path) -> Iterator[None]:
    """Raises `disk_full` where the work ends with no room left on `output`'s disk.

    OpenVINO does not say why it could not write, or cuts the file and says nothing.
    """
    error: Exception | None = None
    try:
        yield
    except Exception as caught:
        error = caught
    if shutil.disk_usage(output).free < NEARLY_FULL_BYTES:
        raise CallFailure(
            "disk_full",
            f"Cannot export a graph to {output}: no space is left on its disk",
            hint="Free space, or set PARE_HOME to a larger disk",
        ) from error
    if error is not None:
        raise error


def _read_config(model_dir: Path) -> dict[str, Any]:
    path = model_dir / "config.json"
    try:
        config = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise CallFailure(
            "bad_input", f"Cannot export {model_dir} as a graph: its config.json is not readable"
        ) from error
    if runs_code(config):
        raise CallFailure(
            "invalid",
            f"Cannot export {model_dir} as a graph: the model brings its own code",
            "measure it in the runtime transformers",
        )
    config.pop("auto_map", None)
    config.pop("quantization_config", None)
    for name in ("dtype", "torch_dtype"):
        if name in config:
            config[name] = "float32"
    return dict(config)


def fill_weights(model: torch.nn.Module, seed: int) -> None:
    """Gives every parameter its own values, norms near 1, so that no two are equal."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.normal_(1.0, 0.1, generator=generator)
            else:
                parameter.normal_(0.0, 0.02, generator=generator)


def strip_weights(source: Path, target: Path, model: torch.nn.Module) -> list[dict[str, Any]]:
    """Replaces each weight of the graph at `source` by a named input and saves it at `target`.

    A weight is found by its values. Fails where a parameter of the model is not in the graph, or
    where the graph holds a large constant that the model does not know.
    """
    import openvino

    graph = openvino.Core().read_model(source)
    parameters = {name: p.detach().numpy() for name, p in model.named_parameters()}
    buffers = {name: b.detach().numpy() for name, b in model.named_buffers()}
    by_size: dict[int, dict[str, np.ndarray]] = {}
    for tensor, value in {**parameters, **buffers}.items():
        by_size.setdefault(value.size, {})[tensor] = value
    weights: list[dict[str, Any]] = []
    for node in list(graph.get_ops()):
        if node.get_type_name() != "Constant":
            continue
        name, transposed = _match(node, by_size.get(_size(node), {}))
        if name is not None and name in parameters:
            weights.append(_replace_by_input(graph, node, name, transposed))
        elif name is None and _size(node) * node.output(0).element_type.size > LARGEST_OWN_CONSTANT:
            raise CallFailure(
                "invalid",
                f"Cannot export a graph of {type(model).__name__}: its constant "
                f"{node.get_friendly_name()} {list(node.output(0).shape)} is none of its weights",
                "measure it in the runtime transformers",
            )
    counts = Counter(str(weight["tensor"]) for weight in weights)
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        raise CallFailure(
            "invalid",
            f"Cannot export a graph of {type(model).__name__}: {twice[0]} is in it"
            f" {counts[twice[0]]} times",
            "measure it in the runtime transformers",
        )
    missing = sorted(set(parameters) - set(counts))
    if missing:
        raise CallFailure(
            "invalid",
            f"Cannot export a graph of {type(model).__name__}: {len(missing)} of its "
            f"{len(parameters)} weights are not in the graph, such as {missing[0]}",
            "measure it in the runtime transformers",
        )
    graph.validate_nodes_and_infer_types()
    openvino.save_model(graph, target, compress_to_fp16=False)
    return sorted(weights, key=lambda weight: str(weight["input"]))


def _size(node: openvino.Node) -> int:
    return int(np.prod(list(node.output(0).shape), dtype=np.int64))


def _match(node: openvino.Node, candidates: dict[str, np.ndarray]) -> tuple[str | None, bool]:
    """(name of the tensor that holds exactly this constant's values, in this order or transposed;
    whether transposed)."""
    if not candidates or not node.output(0).element_type.is_real():
        return None, False
    values = node.data.reshape(-1)
    for name, tensor in candidates.items():
        if np.array_equal(values, tensor.reshape(-1)):
            return name, False
        # Products with a Conv1D's (in, out) are exported as those with (out, in).
        if tensor.ndim == 2 and np.array_equal(values, tensor.T.reshape(-1)):
            return name, True
    return None, False


def _replace_by_input(
    graph: openvino.Model, node: openvino.Node, tensor: str, transposed: bool
) -> dict[str, Any]:
    import openvino.opset13 as ops

    shape = [int(size) for size in node.output(0).shape]
    users = [user.get_node().get_type_name() for user in node.output(0).get_target_inputs()]
    name = f"{INPUT_PREFIX}{tensor}"
    parameter = ops.parameter(shape, np.float32, name=name)
    parameter.output(0).get_tensor().set_names({name})
    for user in list(node.output(0).get_target_inputs()):
        user.replace_source_output(parameter.output(0))
    graph.add_parameters([parameter])
    described = {"input": name, "tensor": tensor, "shape": shape, "used_by": sorted(users)}
    return {**described, "transposed": True} if transposed else described
