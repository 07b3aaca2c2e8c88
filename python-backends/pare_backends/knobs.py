"""Fields of a method's `Params`: each knob with its range and unit, checked by name.

@dataclass(frozen=True)
class Params:
    bits: int = choice(4, choices=(2, 3, 4, 8), unit="bits")
    group_size: int = integer(64, minimum=0, maximum=1024, unit="weights")
    damping: float = real(0.01, minimum=0.0, maximum=1.0, unit="share of the mean diagonal")
    symmetric: bool = flag(True)
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

from pare_backends.failures import CallFailure

KnobValue = float | str | bool
T = TypeVar("T")
MOST_CHARACTERS = 65_536
"""Of a text that a knob takes: the formats of some thousand layers."""


def choice(default: Any, *, choices: Sequence[Any], unit: str, pattern: str | None = None) -> Any:
    """One of a few values, or any text of `pattern`, a regular expression."""
    return _knob("choice", default, unit, choices=list(choices), pattern=pattern)


def integer(default: int, *, minimum: int, maximum: int, unit: str) -> Any:
    """A whole number from minimum to maximum, both included."""
    return _knob("integer", default, unit, minimum=minimum, maximum=maximum)


def real(default: float, *, minimum: float, maximum: float, unit: str) -> Any:
    """A real number from minimum to maximum, both included."""
    return _knob("real", default, unit, minimum=minimum, maximum=maximum)


def flag(default: bool) -> Any:
    """On or off."""
    return _knob("flag", default, "on/off")


def _knob(
    kind: str,
    default: Any,
    unit: str,
    choices: list[Any] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    pattern: str | None = None,
) -> Any:
    metadata = {
        "kind": kind,
        "unit": unit,
        "choices": choices,
        "minimum": minimum,
        "maximum": maximum,
        "pattern": pattern,
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class KnobDescription:
    """A knob as the wire describes it (`KnobDescription` of `core/schemas/action.ts`)."""

    name: str
    kind: str
    default: Any
    unit: str
    choices: list[Any] | None
    minimum: float | None
    maximum: float | None
    pattern: str | None = None


def describe_params(cls: type) -> list[KnobDescription]:
    """The knobs of a `Params` in the order they are written."""
    described = []
    for knob in fields(cls):
        if "kind" not in knob.metadata or knob.default is MISSING:
            raise TypeError(
                f"Cannot describe {cls.__module__}.{knob.name}: "
                "a knob is made by choice, integer, real or flag"
            )
        described.append(KnobDescription(knob.name, default=knob.default, **knob.metadata))
    return described


def build_params(cls: type[T], values: Mapping[str, Any]) -> T:
    """`cls(**values)` after every name, type and range is checked; raises `CallFailure`."""
    knobs = {knob.name: knob for knob in describe_params(cls)}
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
    if knob.kind == "flag":
        return None if isinstance(value, bool) else "it must be true or false"
    if knob.kind == "choice":
        # True == 1 in Python: a flag is no number here.
        allowed = knob.choices or []
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
