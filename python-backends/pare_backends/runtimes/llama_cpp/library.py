"""llama.cpp's libraries as llama-cpp-python binds them, ready-made ones too.

The ready-made ones (npm's @node-llama-cpp) hold ggml's arithmetic once for each kind of processor,
of which the best for this one is loaded. They are some commits behind what llama-cpp-python binds:
what they lack stays unbound. One that was compiled has all in one, and nothing is loaded. `import
llama_cpp` alone fails on the ready-made ones: take `api` from here.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

BINDING = "llama_cpp._ctypes_extensions"
PROCESSORS = "libggml-cpu-*.so"
LEFT_OUT = "sapphirerapids"
"""ggml's AMX code ends the process on matrices of few rows (llama.cpp v0.5.0)."""


def bound(folder: Path) -> Any:
    """`llama_cpp`, imported with a binder that passes over functions which the library lacks.

    folder: of the package
    """
    spec = spec_from_file_location(BINDING, folder / "_ctypes_extensions.py")
    assert spec is not None and spec.loader is not None, "a file of the package"
    binding: Any = module_from_spec(spec)
    spec.loader.exec_module(binding)
    make_binder = binding.ctypes_function_for_shared_library

    def tolerant(library: ctypes.CDLL) -> Callable[..., Any]:
        bind = make_binder(library)

        def decorated(name: str, *types: Any, **more: Any) -> Callable[..., Any]:
            return bind(name, *types, **more) if hasattr(library, name) else lambda function: None

        return decorated

    binding.ctypes_function_for_shared_library = tolerant
    sys.modules[BINDING] = binding
    import llama_cpp

    return llama_cpp


def load_processor(libraries: Path) -> str | None:
    """Loads the arithmetic that suits this processor best.

    returns: what it was built for, such as zen4; None where there is no choice

    libraries: where libggml.so lies
    """
    found = sorted(libraries.glob(PROCESSORS))
    scores = {path: int(ctypes.CDLL(str(path)).ggml_backend_score()) for path in found}
    best = max(
        (path for path in found if LEFT_OUT not in path.name), key=scores.__getitem__, default=None
    )
    if best is None:
        return None
    load = ctypes.CDLL(str(libraries / "libggml.so")).ggml_backend_load
    load.restype = ctypes.c_void_p
    if not load(str(best).encode()):
        raise OSError(f"Cannot run llama.cpp: it does not take {best}")
    return best.stem.removeprefix("libggml-cpu-")


_spec = find_spec("llama_cpp")
if _spec is None or _spec.submodule_search_locations is None:
    raise ModuleNotFoundError("No module named 'llama_cpp'", name="llama_cpp")
_folder = Path(_spec.submodule_search_locations[0])
api = bound(_folder)
libraries = _folder / "lib"
processor = load_processor(libraries)
