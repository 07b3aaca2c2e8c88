"""Plain data across the boundary: builtin values and types as JSON, all else as a number.

A container is `[kind, content]`, so that a tuple stays a tuple and a dict may have any key. What is
no builtin value stays in its guest, and its number, a handle, crosses instead.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any

SAFE_INTEGER = 1 << 63
"""Larger ones cross in hexadecimal: Python limits the digits of decimal ones."""
SEQUENCES: dict[str, Callable[[Iterable[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


def is_builtin(kind: type) -> bool:
    """Whether the type can be told by its name, such as int or ValueError."""
    return vars(builtins).get(kind.__name__) is kind


def encode(value: Any, handle: Callable[[Any], int]) -> Any:
    """The value as JSON has it; `handle` numbers what is no builtin value. A subclass of a builtin
    crosses as the builtin."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < SAFE_INTEGER else ["int", hex(value)]
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, complex):
        return ["complex", [value.real, value.imag]]
    if isinstance(value, (bytes, bytearray)):
        return [type(value).__name__, bytes(value).hex()]
    if isinstance(value, range):
        return ["range", [encode(n, handle) for n in (value.start, value.stop, value.step)]]
    if isinstance(value, dict):
        return ["dict", [[encode(k, handle), encode(v, handle)] for k, v in value.items()]]
    if isinstance(value, type) and is_builtin(value):
        return ["type", value.__name__]
    for builtin in (list, tuple, set, frozenset):
        if isinstance(value, builtin):
            return [builtin.__name__, [encode(item, handle) for item in value]]
    return ["handle", handle(value)]


def decode(data: Any, handle: Callable[[int], Any]) -> Any:
    """The builtin value; `handle` gives what stands for a numbered one. Raises ValueError or
    TypeError where the data are none of `encode`'s."""
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    kind, content = data
    if kind in SEQUENCES:
        return SEQUENCES[kind](decode(item, handle) for item in content)
    if kind == "dict":
        return {decode(key, handle): decode(value, handle) for key, value in content}
    if kind == "int":
        return int(content, 16)
    if kind == "complex":
        return complex(*content)
    if kind in ("bytes", "bytearray"):
        plain = bytes.fromhex(content)
        return plain if kind == "bytes" else bytearray(plain)
    if kind == "range":
        return range(*(decode(item, handle) for item in content))
    if kind == "type" and isinstance(vars(builtins).get(content), type):
        return vars(builtins)[content]
    if kind == "handle" and type(content) is int:
        return handle(content)
    raise ValueError(f"no such kind of data: {kind!r:.40}")
