"""What a teacher answers is kept by content: found again, whole or not at all, window by window."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_model import calibration, tiny_dir

from pare_backends.checkpoint.load import load_dequantized
from pare_backends.distillation import teacher
from pare_backends.distillation.teacher import Kept, TeacherRows, teacher_rows
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.models.layout import layout_of
from pare_backends.progress import Report, silent_report

KEPT = Kept(top_k=8, temperature=2.0)


def windows(count: int) -> torch.Tensor:
    from safetensors.numpy import load_file

    ids = load_file(str(calibration()))["input_ids"][:count, :16]
    return torch.from_numpy(ids.astype(np.int64))


def context(cache: Path | None, original: Path | None = None, **more: Any) -> Context:
    plain = tiny_dir()
    return Context(
        plain,
        layout_of(plain),
        silent_report(),
        seed=1,
        calibration_path=None,
        original_dir=original or plain,
        original_cache=cache,
        **more,
    )


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories that teachers were loaded from."""
    seen: list[str] = []
    load = load_dequantized

    def counted(directory: Path) -> Any:
        seen.append(str(directory))
        return load(directory)

    monkeypatch.setattr(teacher, "load_dequantized", counted)
    return seen


def bytes_below(folder: Path) -> Mapping[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_rows_are_the_teachers_own_distributions(tmp_path: Path) -> None:
    rows = teacher_rows(windows(2), KEPT, context(tmp_path))
    answers = rows.of([0, 1])
    with torch.inference_mode():
        logits = load_dequantized(tiny_dir())[0](windows(2)).logits[:, :-1]
    soft = (logits / 2).log_softmax(-1)
    best = soft.gather(-1, answers.top_ids.long())
    assert torch.allclose(answers.log_probs[..., :8], best, atol=1e-4)
    assert torch.equal(answers.top_ids.long(), soft.topk(8).indices)
    assert torch.allclose(answers.log_probs.exp().sum(-1), torch.ones(2, 15), atol=1e-5)
    text = logits.log_softmax(-1).gather(-1, windows(2)[:, 1:, None]).squeeze(-1).mean(-1)
    assert torch.allclose(rows.likelihoods(), text, atol=1e-4)
    assert rows.tail_mass() == pytest.approx(float(1 - best.exp().sum(-1).mean()), abs=1e-4)


def test_what_is_kept_is_found_and_the_teacher_is_not_loaded_again(
    tmp_path: Path, loads: list[str]
) -> None:
    first = teacher_rows(windows(3), KEPT, context(tmp_path))
    assert (first.computed, len(loads)) == (3, 1)
    before = bytes_below(tmp_path)
    assert first.bytes == sum(len(content) for content in before.values())
    again = teacher_rows(windows(3), KEPT, context(tmp_path))
    assert (again.computed, len(loads)) == (0, 1) and bytes_below(tmp_path) == before
    more = teacher_rows(windows(4), KEPT, context(tmp_path))
    assert (more.computed, len(loads)) == (1, 2)
    other = teacher_rows(windows(3), Kept(top_k=8, temperature=1.0), context(tmp_path))
    assert other.computed == 3, "another temperature is another answer"
    assert {name: bytes_below(tmp_path)[name] for name in before} == before


def test_a_windows_file_is_the_same_whatever_was_missing_with_it(tmp_path: Path) -> None:
    teacher_rows(windows(3), KEPT, context(tmp_path / "at once"))
    for count in (1, 2, 3):
        teacher_rows(windows(count), KEPT, context(tmp_path / "one by one"))
    assert bytes_below(tmp_path / "at once") == bytes_below(tmp_path / "one by one")


class Killed(BaseException):
    """As abrupt as a killed process: nothing of ours catches it."""


def test_a_killed_run_goes_on_at_the_window_where_it_was(tmp_path: Path) -> None:
    def emit(event: Mapping[str, Any]) -> None:
        if event["event"] == "progress" and event["done"] == 2:
            raise Killed

    killed = context(tmp_path)
    object.__setattr__(killed, "report", Report(emit))
    with pytest.raises(Killed):
        teacher_rows(windows(4), KEPT, killed)
    assert teacher_rows(windows(4), KEPT, context(tmp_path)).computed == 2


def test_a_damaged_file_is_made_again(tmp_path: Path) -> None:
    rows = teacher_rows(windows(2), KEPT, context(tmp_path))
    whole = bytes_below(tmp_path)
    rows.paths[1].write_bytes(rows.paths[1].read_bytes()[:-40])
    assert teacher_rows(windows(2), KEPT, context(tmp_path)).computed == 1
    assert bytes_below(tmp_path) == whole


def test_a_full_disk_is_named_and_nothing_is_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors import torch as library

    save, written = library.save_file, 0

    def full(tensors: Any, path: str, **_named: Any) -> None:
        nonlocal written
        if written == 1:
            Path(path).write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        written += 1
        save(tensors, path)

    monkeypatch.setattr(library, "save_file", full)
    with pytest.raises(CallFailure, match="Cannot keep what the original says: no space") as failed:
        teacher_rows(windows(3), KEPT, context(tmp_path))
    assert failed.value.kind == "disk_full" and "PARE_HOME" in (failed.value.hint or "")
    assert len(bytes_below(tmp_path)) == 1, "what was whole stays, what was not is gone"
    monkeypatch.undo()
    assert teacher_rows(windows(3), KEPT, context(tmp_path)).computed == 2


def test_more_tokens_than_the_teacher_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match=r"4096 most likely tokens: its vocabulary has \d+"):
        teacher_rows(windows(1), Kept(top_k=4096, temperature=2.0), context(tmp_path))
    assert not bytes_below(tmp_path)


def test_a_teacher_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(CallFailure, match=r"the teacher .*gone is not there any more"):
        teacher_rows(windows(1), KEPT, context(tmp_path, tmp_path / "gone"))
    without = context(tmp_path)
    object.__setattr__(without, "original_dir", None)
    with pytest.raises(CallFailure, match="no teacher was given with the action"):
        teacher_rows(windows(1), KEPT, without)
    with pytest.raises(CallFailure, match="no folder was given"):
        teacher_rows(windows(1), KEPT, context(None))


def test_logits_that_are_no_numbers_are_never_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(directory: Path) -> Any:
        model, tokenizer = load_dequantized(directory)
        next(model.parameters()).data.fill_(float("nan"))
        return model, tokenizer

    monkeypatch.setattr(teacher, "load_dequantized", broken)
    with pytest.raises(CallFailure, match="the teacher's logits are not finite") as failed:
        teacher_rows(windows(1), KEPT, context(tmp_path))
    assert failed.value.kind == "not_a_number" and not bytes_below(tmp_path)


def test_hidden_states_are_kept_after_the_blocks_that_are_asked(tmp_path: Path) -> None:
    kept = Kept(top_k=8, temperature=2.0, layers=(1, 2))
    rows: TeacherRows = teacher_rows(windows(2), kept, context(tmp_path))
    hidden = rows.of([0, 1]).hidden
    assert hidden is not None and hidden.shape == (2, 2, 15, 64)
    with torch.inference_mode():
        said = load_dequantized(tiny_dir())[0](windows(2), output_hidden_states=True)
    for place, layer in enumerate((1, 2)):
        assert torch.allclose(hidden[:, place], said.hidden_states[layer][:, :-1], atol=1e-4)
