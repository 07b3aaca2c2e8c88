"""The Python end of the wire (`core/calls/calls.ts`): requests in, events out."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import threading
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pare_backends.failures import CallFailure
from pare_backends.knobs import unknown_name

PROTOCOL = 1
SPECIAL_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class WorkerRequest:
    """What stands on stdin: one line of JSON."""

    protocol: int
    request_id: str
    threads: int | None
    request: dict[str, Any]


def read_request(line: str) -> WorkerRequest:
    """The request of one line; raises `CallFailure` with the reason."""
    try:
        payload = json.loads(line)
    except ValueError as error:
        raise CallFailure("bad_input", f"Cannot read the request as JSON: {error}") from error
    request = build(WorkerRequest, payload)
    if request.protocol != PROTOCOL:
        raise CallFailure(
            "bad_input",
            f"Cannot speak protocol {request.protocol}: this worker speaks {PROTOCOL}",
            hint="Client and worker come from two versions of pare; use one checkout",
        )
    return request


def build(cls: type[T], payload: Any, where: str = "") -> T:
    """An instance of the dataclass from JSON; unknown and missing fields are refused by name.

    Nested dataclasses, lists, tuples, dicts, unions with None and Literals are followed.
    """
    here = where or cls.__name__
    if not isinstance(payload, Mapping):
        raise CallFailure("bad_input", f"Cannot read {here}: it must be an object")
    hints = typing.get_type_hints(cls)
    known = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for name in payload:
        if name not in known:
            sentence = unknown_name("field", name, list(known))
            raise CallFailure("bad_input", f"Cannot read {here}: {sentence}")
    values: dict[str, Any] = {}
    for name, field in known.items():
        if name in payload:
            values[name] = _convert(hints[name], payload[name], f"{here}.{name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise CallFailure("bad_input", f'Cannot read {here}: field "{name}" is missing')
    return cls(**values)


def _convert(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        return _convert_union(arguments, value, where)
    if origin is typing.Literal:
        if value in arguments:
            return value
        raise _refused(where, value, f"one of {', '.join(str(a) for a in arguments)}")
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return build(hint, value, where)
    if origin in (list, tuple):
        if not isinstance(value, list):
            raise _refused(where, value, "a list")
        inner = arguments[0] if arguments else Any
        items = [_convert(inner, item, f"{where}[{i}]") for i, item in enumerate(value)]
        return items if origin is list else tuple(items)
    if (origin or hint) in (dict, Mapping):
        if not isinstance(value, dict):
            raise _refused(where, value, "an object")
        inner = arguments[1] if len(arguments) == 2 else Any
        return {key: _convert(inner, item, f"{where}.{key}") for key, item in value.items()}
    return _convert_scalar(hint, value, where)


def _convert_union(options: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in options:
        return None
    rest = [option for option in options if option is not type(None)]
    for option in rest:
        # bool before int before float: True must not become 1.0.
        if isinstance(option, type) and type(value) is option:
            return value
    if len(rest) == 1:
        return _convert(rest[0], value, where)
    for option in rest:
        try:
            return _convert(option, value, where)
        except CallFailure:
            continue
    raise _refused(where, value, f"one of {', '.join(_name(option) for option in options)}")


def _convert_scalar(hint: Any, value: Any, where: str) -> Any:
    if hint is float and isinstance(value, str) and value in SPECIAL_NUMBERS:
        return SPECIAL_NUMBERS[value]
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if hint is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if hint is Path and isinstance(value, str):
        return Path(value)
    if hint in (list, dict, str, bool) and isinstance(value, hint):
        return value
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if hint is type(None) and value is None:
        return None
    raise _refused(where, value, _name(hint))


def _refused(where: str, value: Any, wanted: str) -> CallFailure:
    shown = json.dumps(value)[:80]
    return CallFailure("bad_input", f"Cannot read {where}: it must be {wanted}, not {shown}")


def _name(hint: Any) -> str:
    return getattr(hint, "__name__", str(hint))


def to_wire(value: Any) -> Any:
    """The value as JSON can carry it: dataclasses become objects, paths text, NumPy scalars and
    arrays numbers and lists, NaN and infinities the wire's strings."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, Path):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_wire(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_wire(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_wire(item) for item in value]
    if hasattr(value, "tolist"):  # a NumPy scalar or array, or a tensor
        return to_wire(value.tolist())
    raise TypeError(f"Cannot send a {type(value).__name__} over the wire: {value!r}")


class EventWriter:
    """Writes events to a file descriptor, one JSON object a line, whole lines only."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def __call__(self, event: Mapping[str, Any]) -> None:
        line = json.dumps(to_wire(event), ensure_ascii=False, allow_nan=False) + "\n"
        # A lone surrogate, as a tokenizer may give half a character, is no UTF-8.
        rest = memoryview(line.encode("utf-8", errors="replace"))
        with self._lock:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
