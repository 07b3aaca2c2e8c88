"""The slow imports, done before a request arrives: 4 s that a warm spare has behind it."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

UNUSED = "sklearn"
"""transformers imports it, with scipy.stats and pandas, for an assisted decoding that nobody uses:
1.3 of the 5 seconds of processor time that all these imports take."""

PRELOADS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "none": (),
    # Imports only: a torch operation here would start threads for nothing.
    "torch": (
        ("torch", ()),
        ("transformers", ("AutoConfig", "AutoModelForCausalLM", "AutoTokenizer")),
        # What every architecture's own module imports, 0.4 s of processor time: scipy among it.
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
    with missing(UNUSED) if preload == "torch" else nullcontext():
        for module, names in PRELOADS[preload]:
            try:
                loaded = importlib.import_module(module)
            except ImportError:
                continue  # not every environment has it; the call says so where it is needed
            for name in names:  # transformers loads a name's module when it is first asked for
                getattr(loaded, name)


@contextmanager
def missing(package: str) -> Iterator[None]:
    """Lets what is imported meanwhile find that a package is not installed; later it is there."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]  # as importlib marks what is not there
    try:
        yield
    finally:
        del sys.modules[package]
