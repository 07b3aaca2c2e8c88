"""Runtimes are found by their folders, and refused in words."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from runtime_fixtures import random_llama, worker_environment

import pare_backends
from pare_backends.calls import make_form as make_call
from pare_backends.calls import runtime_logits as logits_call
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report
from pare_backends.runtimes import registry
from pare_backends.runtimes.logits import load_logits
from pare_backends.runtimes.registry import make_form, open_model, open_session, runtime_packages

PACKAGE = Path(pare_backends.__file__).parent
RUNTIMES = PACKAGE / "runtimes"


def test_every_folder_is_a_runtime_of_its_own_name() -> None:
    folders = {path.parent.name for path in RUNTIMES.glob("*/__init__.py")}
    found = runtime_packages()
    assert {name.replace(".", "_") for name in found} == folders
    assert {package.rpartition(".")[2] for package in found.values()} == folders


def test_an_unknown_runtime_is_refused_with_the_nearest() -> None:
    with pytest.raises(CallFailure, match=r'"llamacpp".*Did you mean "llama\.cpp"'):
        open_session("llamacpp", str(random_llama(0)), None, 1)


@pytest.mark.parametrize("runtime", ["openvino", "llama.cpp"])
def test_a_runtime_with_a_form_is_not_opened_without_one(runtime: str) -> None:
    with pytest.raises(CallFailure, match=f"{re.escape(runtime)}: form_dir is null"):
        open_session(runtime, str(random_llama(0)), None, 1)


def test_a_runtime_without_a_form_takes_and_makes_none(tmp_path: Path) -> None:
    source = str(random_llama(0))
    with pytest.raises(CallFailure, match="it loads the checkpoint itself"):
        open_session("transformers", source, str(tmp_path), 1)
    with pytest.raises(CallFailure, match=r"Cannot use make\.py of the runtime transformers"):
        make_form("transformers", source, str(tmp_path), False, silent_report())
    with pytest.raises(CallFailure, match=r"Cannot use model\.py of the runtime transformers"):
        open_model("transformers", source, str(tmp_path), sys.executable, 1)


THEIRS = {
    "session.py": "def open_session(artifact_dir, form_dir, threads):\n    return form_dir\n",
    "words.py": "WORD = 'made by theirs'\n",
    "make.py": "from .words import WORD\n"
    "def make(artifact, output, exact, report):\n"
    "    (output / 'form').write_text(WORD)\n    return [WORD]\n",
    "logits.py": "import numpy as np\n"
    "from pare_backends.runtimes.logits import RuntimeLogits\n"
    "def compute_logits(asked, threads):\n"
    "    tokens = np.arange(asked.tokens)\n"
    "    flat = np.zeros((asked.tokens, 4), np.float32)\n"
    "    return RuntimeLogits(tokens, flat, flat, {})\n",
}


def test_a_third_partys_runtime_is_found_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "THIRD_PARTY", {})
    folder, output = tmp_path / "their runtime", tmp_path / "out"
    folder.mkdir()
    missing = make_call.Request("their.own", "a", str(output), False, str(folder))
    with pytest.raises(CallFailure, match=r"runtime their\.own: there is no file .*session\.py"):
        make_call.run(missing, silent_report())
    for name, text in THEIRS.items():
        (folder / name).write_text(text)
    made = make_call.run(missing, silent_report())
    assert made == {"size_bytes": len("made by theirs"), "notes": ["made by theirs"]}
    assert open_session("their.own", "a", str(output), 1) == str(output)
    path = str(tmp_path / "logits.npz")
    asked = logits_call.Request("their.own", "a", "f", "e", 3, 1, path, str(folder))
    assert logits_call.run(asked, silent_report()) == {"tokens": 3}
    assert load_logits(path).strict.shape == (3, 4)
    assert "their.own" in runtime_packages()


def test_a_cache_of_one_way_is_not_set() -> None:
    with pytest.raises(CallFailure, match="cache of the runtime vllm: it is kept in one way"):
        open_model("vllm", "a", "f", sys.executable, 1, None, {"kv_precision": "u8"})


def test_no_file_outside_its_folder_names_a_runtime() -> None:
    """But for `transformers`, which is a library too, and where artifacts are converted: files go
    by the name of the program that reads them. One that runs another's graph names that."""
    converting = PACKAGE / "conversion"
    built_on = {"openvino": RUNTIMES / "openvino_genai"}
    packages = runtime_packages()
    problems = []
    for name, package in packages.items():
        folder = RUNTIMES / package.rpartition(".")[2]
        quoted = [] if name == "transformers" else [f'"{name}"', f"'{name}'"]
        for path in PACKAGE.rglob("*.py"):
            inside = path.is_relative_to(folder) or path.is_relative_to(built_on.get(name, folder))
            code = "" if inside else path.read_text()
            module = rf"{re.escape(package)}\b"
            words = [module] if path.is_relative_to(converting) else [module, *quoted]
            problems += [f"{path} says {word}" for word in words if re.search(word, code)]
    assert problems == []


@pytest.mark.parametrize("module", ["session", "logits", "make"])
def test_what_runs_without_torch_imports_none(module: str) -> None:
    """A runtime's environment may lack it, and it would count in the memory of the process."""
    code = f"import sys, pare_backends.runtimes.openvino.{module}\n"
    code += "import pare_backends.calls.speed, pare_backends.calls.runtime_logits\n"
    code += "import pare_backends.calls.make_form\n"
    code += "print([m for m in ('torch', 'transformers') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=worker_environment(),
    )
    assert done.stdout.strip() == "[]"
