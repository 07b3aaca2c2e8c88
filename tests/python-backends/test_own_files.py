"""A model's directory holds its own files: links out of it, pipes and broken links are refused by
name, and nothing from elsewhere reaches an artifact or a prompt."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_model import act, tiny_copy

from pare_backends.calls.import_model import ImportModelRequest, run
from pare_backends.checkpoint import own_files
from pare_backends.checkpoint.files import read
from pare_backends.checkpoint.load import load_tokenizer
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report

SECRET = "a secret of this machine"


def refusal_of(model: Path, out: Path) -> str:
    with pytest.raises(CallFailure) as failed:
        run(ImportModelRequest(str(model), str(out), False), silent_report())
    assert failed.value.kind == "bad_input"
    assert "\n" not in failed.value.message
    assert not out.exists()
    return failed.value.message


def link(name: str, target: str) -> Callable[[Path], None]:
    def spoil(model: Path) -> None:
        (model / name).unlink(missing_ok=True)
        (model / name).symlink_to(target.format(model=model, outside=model.parent / "secret.txt"))

    return spoil


def pipe(model: Path) -> None:
    os.mkfifo(model / "chat_template.jinja")


def unix_socket(model: Path) -> None:
    here = Path.cwd()
    os.chdir(model)  # its path may be longer than a socket's name can be
    try:
        socket.socket(socket.AF_UNIX).bind("vocab.txt")
    finally:
        os.chdir(here)


def folder(model: Path) -> None:
    (model / "config.json").unlink()
    (model / "config.json").mkdir()


def deep(model: Path) -> None:
    (model / "/".join("d" * 18)).mkdir(parents=True)


def code_below(model: Path) -> None:
    (model / "extra").mkdir()
    (model / "extra" / "code.py").symlink_to(model.parent / "secret.txt")


CASES: dict[str, tuple[Callable[[Path], None], str]] = {
    "absolute link": (
        link("chat_template.jinja", "{outside}"),
        "jinja is a link to .*, outside of",
    ),
    "relative link": (link("chat_template.jinja", "../secret.txt"), "secret.txt, outside of it"),
    "any file's name": (
        link("notes.md", "/etc/hostname"),
        "notes.md is a link to /etc/hostname, o",
    ),
    "link to a device": (
        link("vocab.txt", "/dev/zero"),
        "vocab.txt is a link to /dev/zero, outside",
    ),
    "link to a folder": (link("more", ".."), "more is a link to .*, outside of it"),
    "link to itself": (link("more", "."), "more is a directory, not a file"),
    "config": (link("config.json", "{outside}"), "config.json is a link to .*, outside of it"),
    "weights": (
        link("model.safetensors", "{outside}"),
        "model.safetensors is a link to .*, outside",
    ),
    "dangling weights": (
        link("model.safetensors", "gone"),
        "safetensors is a link to gone, which is m",
    ),
    "dangling index": (
        link("model.safetensors.index.json", "x"),
        "is a link to x, which is missing",
    ),
    "loop": (
        link("tokenizer.json", "tokenizer.json"),
        "tokenizer.json is a link that leads back to",
    ),
    "below": (code_below, "extra/code.py is a link to .*, outside of it"),
    "pipe": (pipe, "chat_template.jinja is a pipe, not a file"),
    "socket": (unix_socket, "vocab.txt is a socket, not a file"),
    "folder": (folder, "config.json is a directory, not a file"),
    "depth": (deep, "its directories are nested more than 16 deep"),
    "name": (lambda model: (model / "a\nb.json").touch(), r"cannot be shown: 'a\\nb.json'"),
    "bytes": (
        lambda model: Path(os.fsdecode(bytes(model) + b"/\xff.json")).touch(),
        r"'\\udcff.js",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_the_models_own_is_refused_by_name(case: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(SECRET)
    model = tiny_copy(tmp_path / "model")
    spoil, said = CASES[case]
    spoil(model)
    message = refusal_of(model, tmp_path / "out")
    assert re.search(said, message), message
    assert SECRET not in message


def test_too_many_files_are_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_files, "MOST_FILES", 20)
    model = tiny_copy(tmp_path / "model")
    for number in range(20):
        (model / f"{number}.txt").touch()
    assert "holds more than 20 files" in refusal_of(model, tmp_path / "out")


def test_a_link_made_later_reaches_no_artifact_and_no_prompt(tmp_path: Path) -> None:
    """The directory may change after it was looked over: what copies looks again."""
    (tmp_path / "secret.txt").write_text(SECRET)
    model = tiny_copy(tmp_path / "model")
    (model / "chat_template.jinja").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(CallFailure, match=r"chat_template\.jinja is a link to"):
        act(tmp_path / "out", "rtn", {}, parent=model)
    assert not list((tmp_path / "out").glob("chat_template*"))
    with pytest.raises(CallFailure, match=r"chat_template\.jinja is a link to"):
        load_tokenizer(model)


def test_links_that_stay_inside_are_followed(tmp_path: Path) -> None:
    model = tiny_copy(tmp_path / "model")
    (model / "model.safetensors").rename(model / "weights.bin")
    (model / "model.safetensors").symlink_to("weights.bin")
    (model / ".git").mkdir()
    (model / ".git" / "annex").symlink_to("/nowhere")
    (tmp_path / "given").symlink_to(model)  # a user's own path may be a link
    facts = run(
        ImportModelRequest(str(tmp_path / "given"), str(tmp_path / "out"), False), silent_report()
    )
    assert facts["path"] == str(model.resolve())


def hub_cache(folder: Path) -> Path:
    """The tiny model as the hub's cache keeps it: a snapshot of links to blobs."""
    repository = folder / "models--forest--tiny"
    model = tiny_copy(folder / "plain")
    snapshot = repository / "snapshots" / "0123abc"
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    for number, path in enumerate(sorted(model.iterdir())):
        path.rename(repository / "blobs" / f"{number:040d}")
        (snapshot / path.name).symlink_to(f"../../blobs/{number:040d}")
    return snapshot


def test_a_snapshot_of_the_hubs_cache_is_its_repositorys_own(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path)
    facts = run(ImportModelRequest(str(snapshot), str(tmp_path / "out"), False), silent_report())
    assert facts["layers"] == 2
    assert read(snapshot).files
    outside = tmp_path / "secret.txt"
    outside.write_text(SECRET)
    blob = snapshot.parent.parent / "blobs" / "f"
    blob.symlink_to(outside)
    (snapshot / "chat_template.jinja").symlink_to("../../blobs/f")
    assert "secret.txt, outside of it" in refusal_of(snapshot, tmp_path / "out")


def test_blobs_that_are_a_link_are_nobodys(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path)
    blobs = snapshot.parent.parent / "blobs"
    shutil.move(blobs, tmp_path / "elsewhere")
    blobs.symlink_to(tmp_path / "elsewhere")
    assert "outside of it" in refusal_of(snapshot, tmp_path / "out")


def test_a_model_that_is_no_file_is_said_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "gone.gguf").symlink_to("nowhere")
    (tmp_path / "round.gguf").symlink_to("round.gguf")
    os.mkfifo(tmp_path / "pipe.gguf")
    out = tmp_path / "out"
    assert "it is a link to nowhere, which is missing" in refusal_of(tmp_path / "gone.gguf", out)
    assert "it is a link to round.gguf" in refusal_of(tmp_path / "round.gguf", out)
    assert "neither a file nor a directory" in refusal_of(tmp_path / "pipe.gguf", out)
