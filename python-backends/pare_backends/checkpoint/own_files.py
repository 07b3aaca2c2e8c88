"""A model's directory holds its own files: what lies elsewhere is never read as a part of it.

A directory from a stranger may hold a link to any file of this machine. What is read through it
would stand in prompts, and be copied into artifacts that are published. The hub's cache keeps a
model as links into its repository's own blobs: these belong to it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pare_backends.failures import CallFailure

MOST_FILES = 10_000
DEEPEST = 16
KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
HINT = "Copy the file itself into the directory"


def check_directory(directory: str | Path) -> None:
    """Raises `CallFailure` where a model's directory holds anything but its own files. What
    begins with a dot is no part of a model."""
    root = Path(os.path.realpath(directory))
    for number, path in enumerate(_walk(root, root, 0)):
        if number >= MOST_FILES:
            raise _refused(root, f"it holds more than {MOST_FILES} files, which no model has")
        own_file(root, path)


def own_file(root: Path, path: Path) -> Path:
    """The path, which is a file of the model in `root`, or a link to one. Raises `CallFailure`."""
    shown = path.relative_to(root) if path.is_relative_to(root) else path
    if not path.name.isprintable():
        raise _refused(root, f"a name in it holds a letter that cannot be shown: {path.name!a:.90}")
    try:
        if not path.is_symlink():
            _require_file(root, shown, path.stat().st_mode)
            return path
        target = Path(os.path.realpath(path, strict=True))
        mode = target.stat().st_mode
    except OSError as error:
        if not path.is_symlink():
            raise _refused(root, f"{shown} cannot be read: {error.strerror}") from error
        leads = path.readlink()
        if error.errno == errno.ELOOP:
            raise _refused(root, f"{shown} is a link that leads back to itself", HINT) from error
        why = "is missing" if error.errno == errno.ENOENT else f"cannot be read: {error.strerror}"
        raise _refused(root, f"{shown} is a link to {leads}, which {why}", HINT) from error
    real = Path(os.path.realpath(root))
    if not any(target.is_relative_to(home) for home in _homes(real)):
        raise _refused(root, f"{shown} is a link to {target}, outside of it", HINT)
    _require_file(root, shown, mode)
    return path


def _homes(real: Path) -> list[Path]:
    """Where a model's files may lie: in its directory and, in the hub's cache, its repository's
    blobs. By their plain paths: blobs that are a link themselves lead elsewhere."""
    repository = real.parent.parent
    cached = real.parent.name == "snapshots" and repository.name.startswith("models--")
    return [real, repository / "blobs"] if cached else [real]


def _require_file(root: Path, shown: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = "a directory" if stat.S_ISDIR(mode) else KINDS.get(stat.S_IFMT(mode), "no file")
    raise _refused(root, f"{shown} is {kind}, not a file")


def _walk(root: Path, directory: Path, depth: int) -> Iterator[Path]:
    """Every entry below the directory that is not itself a directory, and none behind a link."""
    if depth > DEEPEST:
        raise _refused(root, f"its directories are nested more than {DEEPEST} deep")
    with os.scandir(directory) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.name.startswith("."):
                continue
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False) and not _is_read(entry.name):
                yield from _walk(root, path, depth + 1)
            else:
                yield path


def _is_read(name: str) -> bool:
    """Whether a name is one of a file: a directory that stands there is no part of a model."""
    return name.endswith((".safetensors", ".json", ".jinja", ".model", ".py"))


def _refused(root: Path, why: str, hint: str | None = None) -> CallFailure:
    return CallFailure("bad_input", f"Cannot use {root}: {why}", hint=hint)
