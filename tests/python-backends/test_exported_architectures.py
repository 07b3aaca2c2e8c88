"""Graphs of architectures other than Llama's compute with an artifact's own weights."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
from random_models import write_model
from runtime_fixtures import exporter, folder, graph_proof, run_worker
from tiny_model import act

from pare_backends.runtimes.openvino.graph_weights import build_model

EXACT = 1e-7
"""Nats; one wrong layer of these models gives more than 1e-3."""
METHODS = {
    "rtn": {"bits": 4, "group_size": 32, "symmetric": False, "targets": "all"},
    "int8": {"activation_group_size": 32},
}


@functools.cache
def model_dir(architecture: str) -> Path:
    """A small random model, written once."""
    directory = folder() / f"{architecture}-model"
    directory.mkdir()
    return write_model(architecture, directory)


@functools.cache
def graph_dir(architecture: str) -> Path:
    """The graph of its architecture, exported by a real worker."""
    python = exporter()
    output = folder() / f"{architecture}-graph"
    source = str(model_dir(architecture))
    request = {
        "call": "make_form", "runtime": "openvino", "artifact_dir": source,
        "output_dir": str(output), "exact": False,
    }  # fmt: skip
    events = run_worker(python, request)
    assert events[-1]["event"] == "result", events[-1]
    return output


# Bloom's graph takes no positions, GPT-2's holds its layers turned round, GPT-NeoX's head has
# another name.
@pytest.mark.parametrize("architecture", ["bloom", "gpt2", "gpt_neox"])
def test_a_graph_gives_the_artifacts_own_logits(architecture: str, tmp_path: Path) -> None:
    graph = graph_dir(architecture)
    directories = [model_dir(architecture)]
    for method, params in METHODS.items():
        act(tmp_path / method, method, params, parent=model_dir(architecture))
        directories.append(tmp_path / method)
    for directory in directories:
        proof = graph_proof(directory, graph, seed=1)
        assert proof["strict_kl"] < EXACT and proof["default_agreement"] > 0.9


def test_every_tensor_is_described_once_and_the_turned_ones_say_so() -> None:
    described = json.loads((graph_dir("gpt2") / "weights.json").read_text())["weights"]
    tensors = [weight["tensor"] for weight in described]
    assert len(set(tensors)) == len(tensors)
    turned = {weight["tensor"] for weight in described if weight.get("transposed")}
    blocks = [f"transformer.h.{n}." for n in range(2)]
    names = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
    assert turned == {f"{block}{name}.weight" for block in blocks for name in names}


def test_packed_layers_stay_packed_in_the_graph(tmp_path: Path) -> None:
    act(tmp_path / "out", "rtn", METHODS["rtn"], parent=model_dir("gpt2"))
    packed = build_model(str(graph_dir("gpt2")), str(tmp_path / "out")).bytes_read_per_token
    floats = build_model(str(graph_dir("gpt2")), str(model_dir("gpt2"))).bytes_read_per_token
    assert packed < 0.5 * floats
