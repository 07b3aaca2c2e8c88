"""Which files of a repository a study needs, and whether a directory of the cache has them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pare_backends.checkpoint.files import INDEX, SINGLE, weight_files
from pare_backends.failures import CallFailure

SHARD = re.compile(r".*-\d{5}-of-\d{5}\.safetensors$")
COMPANION_SUFFIXES = (".json", ".jinja", ".model", ".txt")
CARD = "README.md"
"""It names the licence, which reports and what is published say."""
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt")


def wanted_files(names: list[str], own_code: bool) -> list[str]:
    """The weights in one form (many repositories hold two), and what lies beside them."""
    top = [name for name in names if "/" not in name]
    stored = [name for name in top if name.endswith(".safetensors")]
    if SINGLE in top:  # as transformers does
        weights = [SINGLE]
    elif INDEX in top:
        weights = [name for name in stored if SHARD.match(name)]
    else:
        weights = stored
    # An index of files that are not fetched would say that they are missing.
    unused = {INDEX} if weights == [SINGLE] else set()
    taken = [name for name in top if name == CARD or name.endswith(COMPANION_SUFFIXES)]
    beside = [name for name in taken if name not in unused]
    code = [name for name in names if name.endswith(".py")] if own_code else []
    return [*weights, *beside, *code]


def is_complete(directory: Path, own_code: bool) -> bool:
    """Whether a directory of the cache is a whole model: a download may have been interrupted,
    or another program may have fetched some files only."""
    try:
        config = json.loads((directory / "config.json").read_text())
        weights = weight_files(directory)
    except (OSError, ValueError, KeyError, CallFailure):
        return False
    if not weights or not any((directory / name).exists() for name in TOKENIZERS):
        return False
    if not (directory / INDEX).exists() and any(SHARD.match(path.name) for path in weights):
        return False
    return not (own_code and config.get("auto_map")) or any(directory.rglob("*.py"))
