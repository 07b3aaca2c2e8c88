"""Knobs of a method. Its TypeScript half declares them; its `Params` has their names and types:

@declared_knobs
class Params:
    bits: int
    symmetric: bool

Defaults, ranges and units come from `knobs.json`, which tests/plugins/knobs_file_test.ts writes
from the declarations. A third party's `Params` is a plain frozen dataclass with defaults: the
request brings what its TypeScript half declares.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import math
import re
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from pare_backends.failures import CallFailure

T = TypeVar("T")
MOST_CHARACTERS = 65_536
"""Of a text that a knob takes: the formats of some thousand layers."""


KINDS = {"bool": "flag", "int": "integer", "float": "real", "str": "choice"}


@dataclass(frozen=True)
class KnobDescription:
    """A knob as its declaration has it (`KnobDescription` of `core/schemas/action.ts`)."""

    name: str
    kind: str
    default: float | str | bool
    unit: str
    choices: list[float | str | bool] | None = None
    minimum: float | None = None
    maximum: float | None = None
    pattern: str | None = None


@functools.cache
def shipped_knobs() -> dict[str, dict[str, KnobDescription]]:
    """Knobs of every method of this package by `agent/method`, as they are declared."""
    held = json.loads(Path(__file__).with_name("knobs.json").read_text("utf-8"))
    return {
        method: {knob["name"]: KnobDescription(**knob) for knob in knobs}
        for method, knobs in held.items()
    }


def declared_knobs(cls: type[T]) -> type[T]:
    """The frozen dataclass of a method of this package, with the defaults of its declaration."""
    method = "/".join(cls.__module__.split(".")[-2:])
    knobs = shipped_knobs()[method]
    names: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        names |= inspect.get_annotations(base)
    if set(names) != set(knobs):
        raise TypeError(
            f"Cannot take {cls.__module__}.Params: its knobs {sorted(names)} are not those of "
            f"{method} in knobs.json, {sorted(knobs)}; write that file anew"
        )
    cls.__annotations__ = names
    for name, knob in knobs.items():
        real = names[name] in (float, "float")
        setattr(cls, name, float(knob.default) if real else knob.default)
    made = dataclass(frozen=True)(cls)
    made._declared = knobs  # type: ignore[attr-defined]
    return made


def knob_types(cls: type) -> dict[str, str]:
    """The type of each knob of a `Params` by its name: bool, int, float or str."""
    hints = typing.get_type_hints(cls)
    return {
        knob.name: getattr(hints[knob.name], "__name__", str(hints[knob.name]))
        for knob in fields(cls)
    }


def declaration(cls: type) -> dict[str, KnobDescription]:
    """What is known of a `Params`: its declaration, or of a third party's its types alone."""
    held = getattr(cls, "_declared", None)
    if held is not None:
        return dict(held)
    return {
        name: KnobDescription(name, KINDS.get(kind, "any"), False, kind)
        for name, kind in knob_types(cls).items()
    }


def build_params(
    cls: type[T],
    values: Mapping[str, Any],
    declared: Sequence[KnobDescription] | None = None,
) -> T:
    """`cls(**values)` after every name, type and range is checked; raises `CallFailure`.

    declared: what a third party's TypeScript half says of its knobs; None: `declaration(cls)`.
    """
    knobs = declaration(cls) if declared is None else {knob.name: knob for knob in declared}
    for name, value in values.items():
        if name not in knobs:
            raise CallFailure("bad_input", unknown_name("knob", name, list(knobs)))
        reason = refusal(knobs[name], value)
        if reason is not None:
            raise CallFailure(
                "bad_input", f"Cannot set {name} to {value!r}: {reason} ({knobs[name].unit})"
            )
    return cls(**values)


def refusal(knob: KnobDescription, value: Any) -> str | None:
    """Why the knob does not take the value; None where it does."""
    if knob.kind == "any":
        return None
    if knob.kind == "flag":
        return None if isinstance(value, bool) else "it must be true or false"
    if knob.kind == "choice":
        if knob.choices is None:
            return None if isinstance(value, str) else "it must be a text"
        # True == 1 in Python: a flag is no number here.
        allowed = knob.choices
        same = any(value == c and isinstance(value, bool) == isinstance(c, bool) for c in allowed)
        if knob.pattern is not None and isinstance(value, str) and len(value) <= MOST_CHARACTERS:
            same = same or re.fullmatch(knob.pattern, value) is not None
        return None if same else f"it must be one of {', '.join(str(c) for c in allowed)}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "it must be a number"
    if knob.kind == "integer" and not isinstance(value, int):
        return "it must be a whole number"
    low = -math.inf if knob.minimum is None else knob.minimum
    high = math.inf if knob.maximum is None else knob.maximum
    return None if low <= value <= high else f"it must be from {knob.minimum} to {knob.maximum}"


def unknown_name(kind: str, name: str, known: Sequence[str]) -> str:
    """The sentence for a name that is not known: the nearest one, then all of them."""
    near = difflib.get_close_matches(name.lower(), [k.lower() for k in known], n=1, cutoff=0.6)
    match = next((k for k in known if near and k.lower() == near[0]), None)
    hint = f' Did you mean "{match}"?' if match is not None else ""
    return f'Unknown {kind} "{name}".{hint} Known: {", ".join(sorted(known))}'


def choice(default: Any, *, choices: Sequence[Any], unit: str, pattern: str | None = None) -> Any:
    """A plugin's of before, which said its ranges here too: they are its TypeScript half's now."""
    return field(default=default)


def integer(default: int, *, minimum: int, maximum: int, unit: str) -> Any:
    """As `choice`, of a whole number."""
    return field(default=default)


def real(default: float, *, minimum: float, maximum: float, unit: str) -> Any:
    """As `choice`, of a real number."""
    return field(default=default)


def flag(default: bool) -> Any:
    """As `choice`, of what is on or off."""
    return field(default=default)
