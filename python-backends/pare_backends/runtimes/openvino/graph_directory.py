"""The directory of an exported graph: its files, and what they say of its weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pare_backends.failures import CallFailure

GRAPH_FILE = "openvino_model.xml"
WEIGHTS_FILE = "weights.json"


def read_description(graph_dir: Path) -> dict[str, Any]:
    """weights.json: the model's config, and the weights that are inputs of the graph."""
    try:
        return dict(json.loads((graph_dir / WEIGHTS_FILE).read_text()))
    except (OSError, ValueError) as error:
        raise CallFailure(
            "bad_input",
            f"Cannot read the graph in {graph_dir}: {WEIGHTS_FILE} is not readable",
            "remove the folder; it is exported again",
        ) from error
