"""The slow imports, done before a request arrives: 4 s that a warm spare has behind it."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

UNUSED = ("sklearn", "scipy")
"""transformers imports sklearn, with scipy.stats and pandas, for an assisted decoding that nobody
uses, and scipy for the losses of models that detect objects: 1.8 of the 5 seconds of processor time
that all these imports take."""

PRELOADS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "none": (),
    # Imports only: a torch operation here would start threads for nothing.
    "torch": (
        ("torch", ()),
        ("transformers", ("AutoConfig", "AutoModelForCausalLM", "AutoTokenizer")),
        # What every architecture's own module imports.
        ("transformers.modeling_layers", ()),
    ),
    # With pandas and pyarrow: 0.8 s of processor time for each call that reads benchmarks.
    "tasks": (
        ("lm_eval.tasks", ()),
        ("lm_eval.evaluator", ()),
        ("lm_eval.models.huggingface", ()),
    ),
}


def prepare_imports(preload: str) -> None:
    """Imports what `preload` names at low priority: the call before this one is still running."""
    if PRELOADS[preload]:
        thread = threading.Thread(target=_import_gently, args=(preload,), name="imports")
        thread.start()
        thread.join()


def _import_gently(preload: str) -> None:
    if sys.platform == "linux":
        # On Linux priority belongs to a thread; the main thread, which will run the call, keeps
        # its own: without privileges it could not get it back.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
    import_all(preload)


def import_all(preload: str) -> None:
    """Imports what `preload` names, in the thread that asks."""
    with without_collecting(), missing(*UNUSED) if preload == "torch" else nullcontext():
        for module, names in PRELOADS[preload]:
            try:
                loaded = importlib.import_module(module)
            except ImportError:
                continue  # not every environment has it; the call says so where it is needed
            for name in names:  # transformers loads a name's module when it is first asked for
                getattr(loaded, name)


@contextmanager
def without_collecting() -> Iterator[None]:
    """Imports make a million objects that stay: looking through them for garbage, again and again,
    takes a fifth of the time. What is there at the end is never looked through, so that a fork
    shares its pages."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


@contextmanager
def missing(*packages: str) -> Iterator[None]:
    """Lets what is imported meanwhile find that these are not installed; later they are there."""
    hidden = [package for package in packages if package not in sys.modules]
    for package in hidden:
        sys.modules[package] = None  # type: ignore[assignment]  # as importlib marks what is not there
    try:
        yield
    finally:
        for package in hidden:
            del sys.modules[package]
