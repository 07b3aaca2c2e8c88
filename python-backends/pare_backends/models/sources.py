"""Where a model's name leads: the demo, the tiny model, a file, a directory, the hub."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from pare_backends.failures import CallFailure
from pare_backends.knobs import unknown_name
from pare_backends.models.gguf.from_hub import HUB_FILE, hub_gguf
from pare_backends.models.hub import hub_snapshot
from pare_backends.progress import Report

OWN_NAMES = ("demo", "tiny")
HUB_NAME = re.compile(r"^[\w.-]+(/[\w.-]+)?$")
DEMO_VARIABLE = "PARE_DEMO_GGUF"
TINY_VARIABLE = "PARE_TINY_MODEL"
GGUF = b"GGUF"
"""What such a file begins with, whatever its name."""
"""A tiny model that was trained before: who makes many homes need not wait for each."""


@dataclass(frozen=True)
class Source:
    """What a name was found to be."""

    kind: str  # demo, tiny, gguf, checkpoint or hub
    path: Path | None  # None for tiny, which is made
    revision: str | None


def own_path(name: str) -> Path:
    """As a person writes it: `~` is a folder of the user's, where the system knows one."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


def find_source(name: str, trust_remote_code: bool, report: Report, packed: bool = False) -> Source:
    """The source of a model name; `CallFailure` in one sentence where there is none.

    packed: one of the hub may be quantized
    """
    if name == "tiny":
        return Source("tiny", None, None)
    if name == "demo":
        path = demo_path()
        # Not the file's own: its weights are put off their grid.
        return Source("demo", path, f"{content_revision(path)}, off its grid")
    path = own_path(name)
    if HUB_FILE.match(name) and not path.exists():
        path = hub_gguf(name, report)
    if path.is_dir():
        return Source("checkpoint", path.resolve(), None)
    if path.is_file():
        if path.suffix != ".gguf":
            raise CallFailure(
                "bad_input",
                f"Cannot use {name} as a model: a file must be a .gguf, this one is"
                f" {path.suffix or 'without suffix'}",
                hint=other_file_hint(path),
            )
        from pare_backends.models.gguf.reading import gguf_parts

        # Not resolved before: the other parts lie beside the name that was given.
        parts = gguf_parts(path.absolute())
        return Source("gguf", parts[0], content_revision(*parts))
    if os.path.lexists(path) or looks_like_path(name):
        raise CallFailure("bad_input", missing_path(name, path))
    near = unknown_name("model", name, OWN_NAMES)
    if "/" not in name and "Did you mean" in near:
        raise CallFailure(
            "bad_input",
            f"{near}, a checkpoint directory, a .gguf file, or a Hugging Face name",
        )
    directory, revision = hub_snapshot(name, trust_remote_code, report, packed)
    return Source("hub", directory, revision)


def other_file_hint(path: Path) -> str:
    """What to do with a file of another name than GGUF's."""
    with path.open("rb") as file:
        is_gguf = file.read(len(GGUF)) == GGUF
    if is_gguf:  # as Ollama keeps them
        return f"It holds a GGUF file: give it by a link of such a name, ln -s {path} model.gguf"
    return "Give the directory that holds config.json and the safetensors files"


def demo_path() -> Path:
    """The demo model's GGUF file, which the set-up fetches."""
    value = os.environ.get(DEMO_VARIABLE)
    if not value or not Path(value).is_file():
        found = f"it names {value}, which is missing" if value else "it is not set"
        raise CallFailure(
            "missing_environment",
            f"Cannot find the demo model: {DEMO_VARIABLE} must name its GGUF file, {found}",
            hint="`npx -y deno task pare doctor` says what of the set-up is missing",
        )
    return Path(value).resolve()


def looks_like_path(name: str) -> bool:
    """Whether a name can only be meant as a path."""
    return (
        name.startswith(("/", "./", "../", "~"))
        or name.endswith(".gguf")
        or (HUB_NAME.match(name) is None)
    )


def missing_path(name: str, path: Path) -> str:
    """The sentence for a path that does not exist, with the nearest of its neighbours."""
    if path.is_symlink():
        target = path.readlink()
        return f"Cannot find the model {name}: it is a link to {target}, which is missing"
    if os.path.lexists(path):
        return f"Cannot use {name} as a model: it is neither a file nor a directory"
    parent = path.parent
    if not parent.is_dir():
        return f"Cannot find the model {name}: there is no directory {parent}"
    models = [p.name for p in parent.iterdir() if p.suffix == ".gguf" or p.is_dir()]
    said = unknown_name("model", path.name, models[:200])
    start, mark, rest = said.partition("Did you mean")
    near = f" {mark}{rest.split(' Known:')[0]}" if start and mark else ""
    return f"Cannot find the model {name}: there is no such file or directory.{near}"


def content_revision(*paths: Path) -> str:
    """Files' own revision: their sha256, of several that of one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
    return f"sha256:{digest.hexdigest()}"
