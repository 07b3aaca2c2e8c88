"""Reads lm-eval's task documents as data: a function is its name, nothing is imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pare_backends.evaluation.tasks.json_rows import NoJson, check_value
from pare_backends.failures import CallFailure, one_line

MOST_VALUES = 100_000
LONGEST = 10_000_000
"""Bytes of a document."""
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class FunctionName(str):
    """What stands after `!function`: the name of code that a document asks for."""

    __slots__ = ()


class _Loader(_Base):  # type: ignore[misc]
    """YAML's safe loader with lm-eval's one tag of its own."""


def _function(loader: Any, node: Any) -> FunctionName:
    return FunctionName(loader.construct_scalar(node))


_Loader.add_constructor("!function", _function)


def read_document(path: Path) -> dict[str, Any]:
    """One document without what it includes. Raises `CallFailure` that says where it is broken."""
    if path.exists() and not path.is_file():
        raise _refused(path, "it is no file")
    try:
        if path.stat().st_size > LONGEST:
            raise _refused(path, f"it has more than {LONGEST} bytes")
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
        check_value(document, MOST_VALUES)
    except OSError as error:
        raise _refused(path, error.strerror or one_line(error)) from error
    except NoJson as error:
        raise _refused(path, str(error)) from error
    except RecursionError as error:
        raise _refused(path, "it is nested too deep") from error
    except UnicodeDecodeError as error:
        raise _refused(path, "it is not UTF-8") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" at line {mark.line + 1}, column {mark.column + 1}"
        why = getattr(error, "problem", None) or one_line(error, 120)
        raise _refused(path, f"it is no YAML{where}: {why}") from error
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        # Of a number or a date that the library's constructors cannot make.
        raise _refused(path, f"it is no YAML: {one_line(error, 120)}") from error
    if not isinstance(document, dict):
        found = "nothing" if document is None else type(document).__name__
        raise _refused(path, f"it must hold keys such as task and doc_to_text, it holds {found}")
    return document


def read_included(path: Path, library: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The documents that make one up, what is included before what includes it. An include lies
    beside its document or, for a user's own, under `library`, lm-eval's folder of tasks."""
    return _read_included(path.resolve(), library.resolve(), ())


def _read_included(
    path: Path, library: Path, above: tuple[Path, ...]
) -> list[tuple[Path, dict[str, Any]]]:
    document = read_document(path)
    found: list[tuple[Path, dict[str, Any]]] = []
    for one in includes(document):
        beside = (path.parent / one).resolve()
        place = beside if beside.is_file() else (library / one).resolve()
        known = place == beside or place.is_relative_to(library)
        if not known or not place.is_file():
            raise _refused(
                path, f'it includes "{one}", which is neither beside it nor a document of lm-eval'
            )
        if place in (path, *above):
            raise _refused(path, f"it includes itself, by way of {place.name}")
        found += _read_included(place, library, (path, *above))
    return [*found, (path, document)]


def includes(document: Mapping[str, Any]) -> list[str]:
    """What a document includes, by the names that stand in it."""
    include = document.get("include") or []
    return [str(one) for one in include] if isinstance(include, list) else [str(include)]


def merged(parts: list[tuple[Path, dict[str, Any]]]) -> dict[str, Any]:
    """One document of several, later ones standing above earlier ones, as lm-eval merges them."""
    whole: dict[str, Any] = {}
    for _, document in parts:
        whole.update(document)
    whole.pop("include", None)
    return whole


def function_names(value: Any) -> list[FunctionName]:
    """The functions that a document names, wherever they stand in it."""
    if isinstance(value, FunctionName):
        return [value]
    if isinstance(value, Mapping):
        return [name for one in value.values() for name in function_names(one)]
    if isinstance(value, list):
        return [name for one in value for name in function_names(one)]
    return []


def _refused(path: Path, reason: str) -> CallFailure:
    return CallFailure("bad_input", f"Cannot read the task file {path}: {reason}")
