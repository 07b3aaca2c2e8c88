"""A directory of floats that is the original of a study, made of a checkpoint as it was given."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.files import COMPANIONS, write_tensors

Converted = tuple[str, list[str]]
"""The type of the weights as they were given, and what a user must know."""


CARD = "README.md"
"""It names the licence that what is made of the model has, too."""


def write_original(
    given: Path, output: Path, tensors: Iterable[tuple[str, np.ndarray]], config: Mapping[str, Any]
) -> None:
    """Writes tensors, which are taken one at a time, config.json and what lies beside the weights
    in the directory that was given."""
    write_tensors(tensors, output)
    for name in (*COMPANIONS, CARD):
        if (given / name).is_file():
            shutil.copyfile(given / name, output / name)
    (output / "config.json").write_text(json.dumps(config, indent=2) + "\n")
