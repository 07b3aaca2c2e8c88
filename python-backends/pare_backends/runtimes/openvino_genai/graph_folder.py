"""The folder that openvino_genai loads: the exported graph with an artifact's own weights."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import openvino

from pare_backends.failures import CallFailure
from pare_backends.runtimes.openvino.graph_directory import GRAPH_FILE
from pare_backends.runtimes.openvino.graph_weights import build_model
from pare_backends.runtimes.openvino.input_rounding import group_in_force, notes_in_force


@dataclass(frozen=True)
class WrittenGraph:
    """What is to be known of the graph in a folder."""

    activation_group: int  # columns of an input that share a scale, as rounded here; 0 = none
    bytes_read_per_token: int
    notes: tuple[str, ...]


def write_folder(form_dir: str, artifact_dir: str, folder: Path) -> WrittenGraph:
    """Fills an empty folder: weights as the artifact has them, nothing rounded, and config.json,
    by which the library knows the model's kind. It takes as many bytes as the weights do there."""
    graph = build_model(form_dir, artifact_dir)
    free = shutil.disk_usage(folder).free
    if free < 2 * graph.bytes_read_per_token:
        raise CallFailure(
            "disk_full",
            f"Cannot write a graph to {folder}: about {graph.bytes_read_per_token / 1e9:.2f} GB are"
            f" needed, {free / 1e9:.2f} GB are free",
            hint="Free space, or set TMPDIR to a larger disk",
        )
    openvino.save_model(graph.model, folder / GRAPH_FILE, compress_to_fp16=False)
    shutil.copyfile(Path(artifact_dir) / "config.json", folder / "config.json")
    return WrittenGraph(
        group_in_force(graph.activation_group),
        graph.bytes_read_per_token,
        notes_in_force(graph.activation_group, graph.notes),
    )
