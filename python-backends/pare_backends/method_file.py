"""A method is one file: which files are methods, and how a third party's is imported from where
it lies. Needs the standard library alone, so any Python can ask."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from pare_backends.failures import CallFailure

PARAMS = re.compile(r"^class Params[(:]", re.MULTILINE)


def methods_in(folder: Path) -> list[str]:
    """Names of the methods in a folder of the package: files with a class `Params`. Read as text:
    importing every file to look would cost seconds."""
    return [
        path.stem
        for path in sorted(folder.glob("*.py"))
        if not path.stem.startswith("_") and PARAMS.search(path.read_text("utf-8"))
    ]


def load_method_file(path: Path) -> ModuleType:
    """The module of a method's file; it must define `Params` and `apply`."""
    return load_own_file(path, "method", ("Params", "apply"))


def load_own_file(path: Path, kind: str, defines: Sequence[str]) -> ModuleType:
    """The module of a plugin's file. kind: what it is, for errors; defines: what it must have."""
    spec = importlib.util.spec_from_file_location(f"pare_plugin_{path.stem}", path)
    if not path.is_absolute() or not path.is_file() or spec is None or spec.loader is None:
        raise CallFailure(
            "bad_input",
            f"Cannot load the {kind} {path.stem}: there is no Python file {path}",
            hint=f"The file of a {kind}'s Python half has its {kind}'s name and ends in .py",
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their own module up by name
    spec.loader.exec_module(module)
    missing = [name for name in defines if not hasattr(module, name)]
    if missing:
        raise CallFailure(
            "bad_input", f"Cannot load the {kind} {path.stem}: {path} defines no {missing[0]}"
        )
    return module
