"""What a stranger's files ask a machine to make, held against the tensors that lie in them: before
anything is made."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pare_backends.checkpoint.own_files import own_file
from pare_backends.checkpoint.stored import Entry
from pare_backends.failures import CallFailure

COUNTS = re.compile(r"layer|block|expert")
"""Names of a configuration's fields that say of how many modules a model is built."""
LAYERS = ("num_hidden_layers", "num_layers", "n_layers", "n_layer")
"""Those of which each has a tensor of its own."""
TOKENIZER = "tokenizer.json"
ID = re.compile(r"[0-9]{1,18}")


def check_sizes(directory: Path, config: Mapping[str, Any], entries: Mapping[str, Entry]) -> None:
    """Raises where config.json speaks of more modules, or a tokenizer of larger ids, than any
    tensor has a place for: building them would take the machine."""
    # A tensor without values may have any side: it takes no byte.
    full = [entry for entry in entries.values() if entry.values > 0]
    sides = max((side for entry in full for side in entry.shape), default=0)
    most = max(sides, len(entries))
    for name, count in counts(config):
        if count > (len(entries) if name in LAYERS else most):
            raise CallFailure(
                "bad_input",
                f"Cannot use {directory}: its config.json says {name}: {count}, and its files hold"
                f" {len(entries)} tensors, none with a side above {sides}",
                hint="Config and weights are of two models: copy the directory again",
            )
    token, number = largest_id(directory)
    if number >= most:
        held = f"no tensor of its files has a side above {sides}"
        raise no_row(directory, token, number, held)


def counts(config: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Every field that says how many there are, of inner configurations too."""
    for name, value in config.items():
        if isinstance(value, dict):
            yield from counts(value)
        elif isinstance(value, int) and not isinstance(value, bool) and COUNTS.search(name):
            yield name, value


def check_ids(directory: Path, tokenizer: Any, rows: int) -> None:
    """Raises where a tokenizer gives ids that the embedding has no row for.

    rows: of the embedding
    """
    vocabulary = tokenizer.get_vocab()
    token = max(vocabulary, key=vocabulary.__getitem__, default=None)
    if token is not None and vocabulary[token] >= rows:
        held = f"its embedding has {rows} rows, for ids below that"
        raise no_row(directory, token, vocabulary[token], held)


def no_row(directory: Path, token: str, number: int, held: str) -> CallFailure:
    """The failure for a token that the model cannot read."""
    return CallFailure(
        "bad_input",
        f"Cannot use {directory}: its tokenizer gives {token!r:.60} the id {number}, and {held}",
        hint="Resize the model's embedding (resize_token_embeddings), or take the tokens without a"
        " row out of the tokenizer's files",
    )


def largest_id(directory: Path) -> tuple[str, int]:
    """The largest id that the tokenizer's own files name, with its token, read without a tokenizer:
    to make one takes memory by this number. ("", -1) where none is named."""
    found = [("", -1)]
    document = read_object(directory, TOKENIZER)
    held = document.get("model")
    words = held.get("vocab") if isinstance(held, dict) else None
    if isinstance(words, list):
        found.append(("", len(words) - 1))
    by_name = [words, read_object(directory, "added_tokens.json")]
    if not document:
        by_name.append(read_object(directory, "vocab.json"))
    for names in by_name:
        if isinstance(names, dict):
            found += [(name, id_) for name, id_ in names.items() if isinstance(id_, int)]
    added = document.get("added_tokens")
    for one in added if isinstance(added, list) else ():
        if isinstance(one, dict) and isinstance(one.get("id"), int):
            found.append((str(one.get("content")), one["id"]))
    told = read_object(directory, "tokenizer_config.json").get("added_tokens_decoder")
    for id_, one in told.items() if isinstance(told, dict) else ():
        if ID.fullmatch(id_):
            found.append((str(one), int(id_)))
    return max(found, key=lambda one: one[1])


def read_object(directory: Path, name: str) -> dict[str, Any]:
    """A JSON object beside the weights; empty where there is none, or it cannot be read: who reads
    it for itself says what is wrong."""
    if not os.path.lexists(directory / name):
        return {}
    try:
        found = json.loads(own_file(directory, directory / name).read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
