"""Call `verify`: reads a written artifact back in this fresh process, compares it with its source
tensor by tensor, and lets it generate. Facts alone: whether they are those of a sound artifact is
for the gate to say, which knows what the action was to do."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pare_backends.checkpoint import Checkpoint, read
from pare_backends.checkpoint.load import load_model, load_tokenizer
from pare_backends.checkpoint.plain_load import plain_facts
from pare_backends.checkpoint.setting import Source, source_of
from pare_backends.checkpoint.soundness import (
    NEW_TOKENS,
    NOT_FINITE,
    cosine,
    generate,
    logits_of,
    prompt_ids,
)
from pare_backends.failures import CallFailure
from pare_backends.models.layout import Layout, layout_of
from pare_backends.progress import Report

PARTS = ("linear", "embedding", "norm", "bias", "other")
PART_OF_ROLE = {
    "linear": "linear",
    "expert": "linear",
    "embedding": "embedding",
    "head": "embedding",
    "norm": "norm",
    "bias": "bias",
}
BLOCK = re.compile(r"([^0-9]*\.)(\d+)\.")
"""`model.layers.` and 12 of model.layers.12.mlp.up_proj: the first number is the block's."""


@dataclass(frozen=True)
class VerifyRequest:
    """`verify` of the wire."""

    artifact_dir: str
    source_dir: str
    weights_dir: str | None = None
    """Of a setting: where its weights lie."""
    plain_load: bool = False
    """Whether the lines are tried that a report prints of what transformers loads by itself."""


@dataclass
class Comparison:
    """What was found of one part of the model."""

    cosines: dict[str, float] = field(default_factory=dict)  # by layer, of those of one shape
    reshaped: int = 0  # layers whose shape is not the source's
    missing: int = 0  # layers of the source alone
    added: int = 0  # layers of the artifact alone
    differs: str | None = None  # the first of these, in words

    def note(self, kind: str, words: str) -> None:
        """Counts a layer that cannot be compared."""
        setattr(self, kind, getattr(self, kind) + 1)
        self.differs = self.differs or words


def run(request: VerifyRequest, report: Report) -> dict[str, Any]:
    """`Verification` of the wire."""
    started = time.perf_counter()
    own = source_of(request.artifact_dir, request.weights_dir)
    with report.span("verify"):
        artifact, source = read(own.weights_dir), read(request.source_dir)
        layout = layout_of(request.source_dir)
        parts, broken = compare(artifact, source, layout, report)
    report.progress("verify: generate", 0, NEW_TOKENS, "tokens")
    text, why, plain = generated(artifact, own, request.plain_load, report)
    broken = broken or (NOT_FINITE if why == NOT_FINITE else None)
    report.progress("verify: generate", NEW_TOKENS, NEW_TOKENS, "tokens")
    cosines = {name: value for part in parts.values() for name, value in part.cosines.items()}
    worst = least(cosines)
    return {
        "layers": len(cosines),
        "minimum_cosine": None if worst is None else cosines[worst],
        "mean_cosine": sum(cosines.values()) / len(cosines) if cosines else None,
        "worst_layer": worst,
        "generated_text": text,
        "seconds": time.perf_counter() - started,
        "parts": [part_facts(name, parts[name]) for name in PARTS],
        "not_finite": broken,
        "not_generated": why,
        "plain_load": plain,
        "cosines": [{"layer": layer, "value": value} for layer, value in cosines.items()],
    }


def part_facts(name: str, found: Comparison) -> dict[str, Any]:
    """`VerifiedPart` of the wire."""
    worst = least(found.cosines)
    return {
        "part": name,
        "layers": len(found.cosines),
        "minimum_cosine": None if worst is None else found.cosines[worst],
        "worst_layer": worst,
        "reshaped": found.reshaped,
        "missing": found.missing,
        "added": found.added,
        "differs": found.differs,
    }


def least(cosines: Mapping[str, float]) -> str | None:
    """The layer with the least cosine; None of none."""
    return min(cosines, key=lambda name: cosines[name], default=None)


def tensors(checkpoint: Checkpoint) -> list[str]:
    """Layers that have a weight, in whatever form, then the other tensors by their full names."""
    plain = [name.removesuffix(".weight") for name in checkpoint.floats]
    return [*checkpoint.stored, *plain]


def values_of(checkpoint: Checkpoint, name: str) -> np.ndarray:
    """A tensor that `tensors` names, float32."""
    if name in checkpoint.stored or f"{name}.weight" in checkpoint.floats:
        return checkpoint.weight(name)
    return np.asarray(checkpoint.floats[name], dtype=np.float32)


def shape_of(checkpoint: Checkpoint, name: str) -> tuple[int, ...]:
    """Its shape, without reading floats."""
    if name in checkpoint.stored or f"{name}.weight" in checkpoint.floats:
        return checkpoint.shape(name)
    return checkpoint.float_shape(name)


def compare(
    artifact: Checkpoint, source: Checkpoint, layout: Layout, report: Report
) -> tuple[dict[str, Comparison], str | None]:
    """What was found by part, and the first tensor of the artifact that is not finite.

    layout: of the source, whose files may hold a tied output head a second time: the artifact need
    not
    """
    parts = {name: Comparison() for name in PARTS}
    held, wanted = tensors(artifact), tensors(source)
    copies: Collection[str] = () if layout.head_copy is None else (layout.head_copy,)
    broken: str | None = None
    for name in [one for one in wanted if one not in set(held) | set(copies)]:
        parts[part_of(name, source, layout)].note("missing", f"{name} is missing")
    known = set(wanted)
    moved = renumbered(held, wanted)
    for done, name in enumerate(held, start=1):
        part = parts[part_of(name, artifact, layout)]
        values = values_of(artifact, name)
        finite = bool(np.isfinite(values).all())
        if not finite:
            broken = broken or name
        if name not in known:
            part.note("added", f"{name} is new")
        elif row_of(name) in moved:
            pass  # its name was another block's: a cosine of both would say nothing
        elif values.shape != shape_of(source, name):
            was = by_sides(shape_of(source, name))
            part.note("reshaped", f"{name} is {by_sides(values.shape)}, its source {was}")
        elif finite:
            part.cosines[name] = cosine(values, values_of(source, name))
        report.progress("verify: compare", done, len(held), "layers")
    return parts, broken


def row_of(name: str) -> tuple[str, int] | None:
    """What stands before the number of the block that a tensor lies in, and that number."""
    found = BLOCK.match(name)
    return None if found is None else (found[1], int(found[2]))


def renumbered(held: Collection[str], wanted: Collection[str]) -> set[tuple[str, int] | None]:
    """Blocks of the artifact in rows of which blocks are gone: those behind them moved up, and no
    name tells which one a block was."""

    def rows(names: Collection[str]) -> dict[str, set[int]]:
        found: dict[str, set[int]] = {}
        for one in names:
            if (place := row_of(one)) is not None:
                found.setdefault(place[0], set()).add(place[1])
        return found

    own, source = rows(held), rows(wanted)
    shorter = [row for row in own if len(own[row]) < len(source.get(row, ()))]
    return {(row, number) for row in shorter for number in own[row]}


def part_of(name: str, checkpoint: Checkpoint, layout: Layout) -> str:
    """The part that a tensor belongs to, by its role in the source."""
    whole = name in checkpoint.stored or f"{name}.weight" in checkpoint.floats
    return PART_OF_ROLE.get(layout.role(f"{name}.weight" if whole else name), "other")


def by_sides(shape: tuple[int, ...]) -> str:
    """A shape as it is said: 576 by 192."""
    return " by ".join(str(side) for side in shape)


def generated(
    artifact: Checkpoint, own: Source, plainly: bool, report: Report
) -> tuple[str, str | None, dict[str, Any] | None]:
    """(a short text, None, what the printed lines give); or as far as it came, and why no text."""
    try:
        with report.span("load", library=True):
            model = own.attach(load_model(artifact, own.weights_dir))
            tokenizer = load_tokenizer(own.weights_dir)
    except CallFailure as failure:
        if failure.kind != "bad_input":
            raise
        return "", failure.message, None
    with report.span("generate", library=True):
        text, why = generate(model, tokenizer)
    if not plainly or why is not None:
        return text, why, None
    with report.span("plain_load", library=True):
        tokens = prompt_ids(tokenizer)
        evaluated = logits_of(model, tokens)
        del model  # two of them may be more than the memory has room for
        return text, why, plain_facts(own.weights_dir, tokens, evaluated)
