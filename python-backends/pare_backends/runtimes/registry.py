"""The runtimes: one folder each, found by the name that its `__init__.py` gives.

A folder holds `session.py` (`open_session`). A runtime that does not load the checkpoint itself
has a form of its own, and three files more: `make.py` (`make`), `logits.py` (`compute_logits`), by
which its form is proved, and `model.py` (`open_model`), in which benchmarks are scored. One whose
cache can be set has `caches.py` (`open_caches`), too. Each file is imported in the environment that
it belongs to, and nothing else names a runtime.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pare_backends.runtimes
from pare_backends.failures import CallFailure
from pare_backends.knobs import unknown_name
from pare_backends.progress import Report

if TYPE_CHECKING:
    from pare_backends.runtimes.cache_session import Caches
    from pare_backends.runtimes.logits import AskedLogits, RuntimeLogits
    from pare_backends.runtimes.runtime_model import RuntimeModel
    from pare_backends.runtimes.session import Session


THIRD_PARTY: dict[str, str] = {}
"""Packages of the runtimes that this process was given a folder for, by their names."""


def add_runtime(runtime: str, directory: str | None) -> None:
    """A third party's runtime: its folder as a package, whose files may import each other.

    directory: absolute; None: the runtime is one of this package
    """
    if directory is None:
        return
    folder = Path(directory)
    if not folder.is_absolute() or not (folder / "session.py").is_file():
        raise CallFailure(
            "bad_input",
            f"Cannot load the runtime {runtime}: there is no file {folder / 'session.py'}",
            hint="python_dir of a runtime's plugin is the absolute path of its Python half",
        )
    package = ModuleType("pare_runtime_" + "".join(c if c.isalnum() else "_" for c in runtime))
    package.__path__ = [str(folder)]
    sys.modules[package.__name__] = package
    THIRD_PARTY[runtime] = package.__name__


def runtime_packages() -> dict[str, str]:
    """The package of each runtime by its name."""
    package = pare_backends.runtimes
    found = [
        f"{package.__name__}.{one.name}"
        for one in pkgutil.iter_modules(package.__path__)
        if one.ispkg
    ]
    own = {str(importlib.import_module(name).NAME): name for name in found}
    return {**own, **THIRD_PARTY}


def formless_runtimes() -> list[str]:
    """Names of those that load a checkpoint themselves."""
    packages = runtime_packages()
    return [one for one, name in packages.items() if find_spec(f"{name}.make") is None]


def make_form(
    runtime: str,
    artifact_dir: str,
    output_dir: str,
    exact: bool,
    report: Report,
    precision: str | None = None,
) -> list[str]:
    """Fills an empty directory with what the runtime loads in the place of an artifact.

    exact: every weight multiplied out to float32, for the proof; a form without weights is the same
    precision: of matrices of floats, one that the runtime's plugin offers; None: its own
    returns: notes
    """
    made = _file(runtime, "make").make(
        Path(artifact_dir), Path(output_dir), exact, report, **_in(precision)
    )
    return list(made)


def open_session(
    runtime: str,
    artifact_dir: str,
    form_dir: str | None,
    threads: int,
    precision: str | None = None,
) -> Session:
    """Loads an artifact to generate; only that runtime's modules are imported.

    precision: in which weights run that are all floats; None: the runtime's own
    """
    _check_form(runtime, form_dir)
    opened: Session = _file(runtime, "session").open_session(
        artifact_dir, form_dir, threads, **_in(precision)
    )
    return opened


def open_model(
    runtime: str,
    artifact_dir: str,
    form_dir: str,
    python: str,
    threads: int,
    precision: str | None = None,
    cache: Mapping[str, Any] | None = None,
) -> RuntimeModel:
    """An artifact in the place of a torch model, as `open_session` runs it.

    python: of the runtime's environment; cache: values of the knobs that its plugin declares
    """
    if cache is not None and not _has(_package(runtime), "caches"):
        raise CallFailure(
            "bad_input", f"Cannot set the cache of the runtime {runtime}: it is kept in one way"
        )
    set_so = {} if cache is None else {"cache": cache}
    model: RuntimeModel = _file(runtime, "model").open_model(
        artifact_dir, form_dir, python, threads, **_in(precision), **set_so
    )
    return model


def open_caches(runtime: str, artifact_dir: str, form_dir: str, threads: int) -> Caches:
    """An artifact whose cache is kept by one setting after the other."""
    _check_form(runtime, form_dir)
    opened: Caches = _file(runtime, "caches").open_caches(artifact_dir, form_dir, threads)
    return opened


def compute_logits(runtime: str, asked: AskedLogits, threads: int) -> RuntimeLogits:
    """Logits of a text that the runtime samples itself, as it is timed and in strict float32."""
    found: RuntimeLogits = _file(runtime, "logits").compute_logits(asked, threads)
    return found


def writer_of(file_format: str, name: str) -> Any:
    """A module of the runtime whose form is a file that others load too: its `WRITES` says so.

    Raises `CallFailure` where no runtime writes that format."""
    for runtime, package in runtime_packages().items():
        if getattr(importlib.import_module(package), "WRITES", None) == file_format:
            return _file(runtime, name)
    raise CallFailure("bad_input", f"Cannot write {file_format}: no runtime here makes such files")


def _in(precision: str | None) -> dict[str, str]:
    """Said to those runtimes alone that offer more than one."""
    return {} if precision is None else {"precision": precision}


def _file(runtime: str, name: str) -> Any:
    """The module of a runtime's folder. Raises where there is no such runtime or file."""
    package = _package(runtime)
    if not _has(package, name):
        raise CallFailure(
            "bad_input",
            f"Cannot use {name}.py of the runtime {runtime}: "
            + (
                "no setting of its cache is known"
                if name == "caches"
                else "it loads the checkpoint itself and has no form"
            ),
        )
    return importlib.import_module(f"{package}.{name}")


def _package(runtime: str) -> str:
    packages = runtime_packages()
    if runtime not in packages:
        raise CallFailure("bad_input", unknown_name("runtime", runtime, sorted(packages)))
    return packages[runtime]


def _has(package: str, name: str) -> bool:
    (folder,) = importlib.import_module(package).__path__
    return (Path(folder) / f"{name}.py").exists()


def _check_form(runtime: str, form_dir: str | None) -> None:
    needed = _has(_package(runtime), "make")
    if needed and form_dir is None:
        raise CallFailure(
            "bad_input",
            f"Cannot open the runtime {runtime}: form_dir is null, it needs the form that make_form"
            " makes",
        )
    if not needed and form_dir is not None:
        raise CallFailure(
            "bad_input",
            f"Cannot open the runtime {runtime}: form_dir is {form_dir}, it loads the checkpoint"
            " itself",
        )
