"""The slow imports, done before a request arrives: 5 s that a warm spare has behind it."""

from __future__ import annotations

import importlib

PRELOADS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "none": (),
    # Imports only: a torch operation here would start threads for nothing.
    "torch": (
        ("torch", ()),
        ("transformers", ("AutoConfig", "AutoModelForCausalLM", "AutoTokenizer")),
    ),
}


def prepare_imports(preload: str) -> None:
    """Imports what `preload` names; a module that the environment lacks is left out."""
    for module, names in PRELOADS[preload]:
        try:
            loaded = importlib.import_module(module)
        except ImportError:
            continue
        for name in names:  # transformers loads a name's module when it is first asked for
            getattr(loaded, name)
