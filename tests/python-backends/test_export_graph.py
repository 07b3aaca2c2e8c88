"""The exported graph: an architecture without weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runtime_fixtures import exported_graph, random_llama

from pare_backends.checkpoint import read
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report
from pare_backends.runtimes.openvino.make import check_disk, make


def test_graph_names_every_tensor_of_the_checkpoint_once_and_holds_none() -> None:
    described = json.loads((exported_graph() / "weights.json").read_text())
    checkpoint = read(random_llama(7))
    tensors = [weight["tensor"] for weight in described["weights"]]
    assert sorted(tensors) == sorted(checkpoint.floats)
    assert (exported_graph() / "openvino_model.bin").stat().st_size < 4096
    embedding = next(w for w in described["weights"] if "embed" in w["tensor"])
    assert embedding["used_by"] == ["Gather", "MatMul"]


def test_export_graph_leaves_nothing_but_the_graph() -> None:
    names = sorted(path.name for path in exported_graph().iterdir())
    assert names == ["openvino_model.bin", "openvino_model.xml", "weights.json"]


def test_export_graph_refuses_a_directory_without_config(tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match=r"config\.json") as caught:
        make(tmp_path, tmp_path, False, silent_report())
    assert caught.value.kind == "bad_input"


def test_export_graph_refuses_a_models_own_code(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"auto_map": {"AutoModel": "m.M"}}))
    with pytest.raises(CallFailure, match="its own code"):
        make(tmp_path, tmp_path, False, silent_report())


def test_export_graph_asks_for_the_disk_before_it_writes(tmp_path: Path) -> None:
    check_disk(tmp_path, 0)
    with pytest.raises(CallFailure, match=r"1000000000\.00 GB may be needed") as caught:
        check_disk(tmp_path, 10**18)
    assert caught.value.kind == "disk_full"
