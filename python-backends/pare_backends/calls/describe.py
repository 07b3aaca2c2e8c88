"""Call `describe`: the knobs of every method by name and type, for the comparison with the
TypeScript half."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.knobs import knob_types
from pare_backends.method_file import load_method_file, methods_in
from pare_backends.progress import Report

PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Request:
    """`python_path`: only that file, a third party's Python half."""

    python_path: str | None = None


def run(request: Request, report: Report) -> dict[str, Any]:
    """Agents, their methods and knobs, by name; the agent of a third party's file is its folder."""
    if request.python_path is not None:
        path = Path(request.python_path)
        knobs = knob_types(load_method_file(path).Params)
        return {"methods": [{"agent": path.parent.name, "method": path.stem, "knobs": knobs}]}
    return {
        "methods": [
            {
                "agent": agent,
                "method": method,
                "knobs": knob_types(method_params(agent, method)),
            }
            for agent, method in method_files()
        ]
    }


def method_files(package: Path = PACKAGE) -> list[tuple[str, str]]:
    """(agent, method) of every file that holds a method, in a folder of the package."""
    folders = sorted({path.parent for path in package.glob("*/*.py")})
    return [(folder.name, method) for folder in folders for method in methods_in(folder)]


def method_params(agent: str, method: str) -> type:
    """The method's frozen dataclass `Params`."""
    params: type = importlib.import_module(f"pare_backends.{agent}.{method}").Params
    return params
