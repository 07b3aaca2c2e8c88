"""Two models that are to be compared, from whatever names them: directories that pare reads,
quantized ones, GGUF files, names on the hub."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pare_backends.checkpoint import read
from pare_backends.checkpoint.empty_model import trusts_remote_code
from pare_backends.checkpoint.forms import StoredTensor
from pare_backends.checkpoint.load import load_dequantized, load_model
from pare_backends.checkpoint.own_files import check_directory
from pare_backends.checkpoint.same_tokens import tokenizers_differ
from pare_backends.elsewhere.baseline import make_baseline
from pare_backends.elsewhere.decoded import is_packed
from pare_backends.elsewhere.given import Unread, refused
from pare_backends.elsewhere.opening import open_given
from pare_backends.elsewhere.text_part import text_config
from pare_backends.models.layout import layout_of
from pare_backends.models.sources import find_source
from pare_backends.progress import Report


def base_directory(name: str, room: Path, report: Report) -> Path:
    """A directory of the first model that pare reads; what is decoded or made lies in `room`."""
    source = find_source(name, trusts_remote_code(), report, packed=True)
    directory, _ = make_baseline(source, room, report)
    return directory


def other_model(name: str, base: Path, report: Report) -> Any:
    """The second model in float32, verified to read the first one's tokens."""
    source = find_source(name, trusts_remote_code(), report, packed=True)
    path = source.path
    if path is None:
        raise refused(name, "it is no model that lies somewhere", "Name a file or a directory")
    if path.is_dir():
        check_directory(path)
    if path.is_dir() and not is_packed(path) and text_config(path) is None:
        model, _ = load_dequantized(path)
        difference = tokenizers_differ(path, base, ("it", "the first model"))
        if difference is not None:
            raise refused(name, f"its vocabulary is another: {difference}")
        return model
    checkpoint = read(base)
    given = open_given(path, Path(name).name, base, checkpoint, layout_of(base))
    stored = {
        layer: tensor
        for layer, held in given.tensors.items()
        if held.like is not None and isinstance(tensor := held.read(), StoredTensor)
    }
    whole = replace(checkpoint, stored=stored, floats=Unread(given.tensors), adapter=None)
    return load_model(whole, base)
