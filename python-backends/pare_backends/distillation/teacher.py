"""What the teacher says of the training windows, computed once and kept on disk.

Kept by content: the folder is the teacher's (whoever gives it names it by the original's hash), a
folder in it stands for what is kept, a file for a window's tokens. So every action of every study
with this teacher finds what another has computed, a kill costs one window, and the teacher is in
memory only while something is missing: never beside the student.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pare_backends.checkpoint.load import load_dequantized
from pare_backends.device import placed
from pare_backends.distillation.divergence import teacher_buckets
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.models.window_files import content_hash, read_rows, readable, write_rows

if TYPE_CHECKING:
    import torch

FORMAT = 1


@dataclass(frozen=True)
class Kept:
    """What is kept of every token."""

    top_k: int
    temperature: float
    layers: tuple[int, ...] = ()  # hidden states after so many blocks; 0: the embedding's

    @property
    def folder(self) -> str:
        """A name that tells it from others."""
        layers = "".join(f"-h{layer}" for layer in self.layers)
        return f"v{FORMAT}-k{self.top_k}-t{self.temperature:g}{layers}"


@dataclass(frozen=True)
class Answers:
    """What the teacher says of windows, for each token but the last of each."""

    top_ids: torch.Tensor  # (windows, tokens - 1, k) int32
    log_probs: torch.Tensor  # (windows, tokens - 1, k + 1) float32, or k where k is all
    likelihood: torch.Tensor  # (windows,) float32: nats per token of the windows' own text
    hidden: torch.Tensor | None  # (windows, layers, tokens - 1, width) float32


@dataclass(frozen=True)
class TeacherRows:
    """The answers for windows, in files: those of a batch are read when they are asked for."""

    paths: tuple[Path, ...]  # by the windows' numbers
    computed: int = 0  # of these, those that were not kept before

    @property
    def bytes(self) -> int:
        """What they take on disk."""
        return sum(path.stat().st_size for path in set(self.paths))

    def of(self, numbers: Sequence[int]) -> Answers:
        """The answers for some windows."""
        import torch

        tensors = [read_rows(self.paths[number]) for number in numbers]
        found = {name: torch.stack([one[name] for one in tensors]) for name in tensors[0]}
        return Answers(
            found["top_ids"], found["log_probs"], found["likelihood"], found.get("hidden")
        )

    def part(self, start: int, stop: int) -> TeacherRows:
        """Those of a run of windows."""
        return TeacherRows(self.paths[start:stop])

    def likelihoods(self) -> torch.Tensor:
        """Of all windows: (windows,) float32."""
        import torch

        return torch.stack([read_rows(path)["likelihood"] for path in self.paths])

    def largest_id(self) -> int:
        """The last token that the teacher speaks of."""
        return max(int(read_rows(path)["top_ids"].max()) for path in self.paths)

    def width(self) -> int:
        """Tokens that are kept of each distribution."""
        return int(read_rows(self.paths[0])["top_ids"].shape[-1])

    def tail_mass(self) -> float:
        """Mean share of the teacher's mass that lies outside its top k, at the temperature."""
        rows = [read_rows(path) for path in self.paths]
        tails = [one["log_probs"][:, one["top_ids"].shape[-1] :].exp().sum(-1) for one in rows]
        return float(sum(float(tail.mean()) for tail in tails) / len(tails))


def teacher_rows(windows: torch.Tensor, kept: Kept, context: Context) -> TeacherRows:
    """What the original says of these windows, found or computed. windows: (windows, tokens) int64

    raises: CallFailure "bad_input" where no teacher was given or it has fewer tokens than top_k,
        "disk_full" where a file cannot be written, "not_a_number" where a logit of it is none
    """
    folder = cache_folder(context) / kept.folder
    paths = [folder / f"{content_hash(window)}.safetensors" for window in windows.numpy()]
    missing = [number for number, path in enumerate(paths) if not readable(path)]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        compute(windows, missing, paths, kept, context)
    return TeacherRows(tuple(paths), len(missing))


def cache_folder(context: Context) -> Path:
    """Where the teacher's answers lie."""
    place = context.original_cache or context.work_dir
    if place is None:
        raise CallFailure(
            "bad_input",
            "Cannot distill: no folder was given with the action for what the teacher says",
        )
    return place


def compute(
    windows: torch.Tensor,
    missing: Sequence[int],
    paths: Sequence[Path],
    kept: Kept,
    context: Context,
) -> None:
    """Runs the teacher over the missing windows, one at a time: so a window's file does not depend
    on which others were missing with it."""
    teacher = load_teacher(context)
    check_width(teacher, kept)
    with context.report.span("teacher", library=True):
        for done, number in enumerate(missing, start=1):
            write_rows(paths[number], answers_of(teacher, windows[number], kept))
            context.report.progress("teacher", done, len(missing), "windows")
    del teacher
    gc.collect()


def teacher_dir(context: Context) -> Path:
    """The original's directory; raises where there is none."""
    directory = context.original_dir
    if directory is None:
        raise CallFailure(
            "bad_input", "Cannot distill: no teacher was given with the action (original_dir)"
        )
    if not (directory / "config.json").exists():
        raise CallFailure(
            "bad_input",
            f"Cannot distill: the teacher {directory} is not there any more, or has no config.json",
            hint="Put the study's model back where it was",
        )
    return directory


def load_teacher(context: Context) -> Any:
    """The original in float32, where torch computes."""
    directory = teacher_dir(context)
    with context.report.span("load", library=True):
        return placed(load_dequantized(directory)[0])


def check_width(teacher: Any, kept: Kept) -> None:
    """Raises where there are fewer tokens than are to be kept."""
    vocabulary = int(teacher.config.get_text_config().vocab_size)
    if kept.top_k > vocabulary:
        raise CallFailure(
            "bad_input",
            f"Cannot keep the teacher's {kept.top_k} most likely tokens: its vocabulary has"
            f" {vocabulary}",
            hint="Lower top_k",
        )


def answers_of(teacher: Any, window: torch.Tensor, kept: Kept) -> dict[str, torch.Tensor]:
    """The tensors of a window's file. window: (tokens,) int64"""
    import torch

    window = window.to(teacher.device)
    with torch.inference_mode():
        said = teacher(window[None], use_cache=False, output_hidden_states=bool(kept.layers))
        logits = said.logits[0, :-1].float()
        if not torch.isfinite(logits).all():
            raise CallFailure("not_a_number", "Cannot distill: the teacher's logits are not finite")
        top_ids, log_probs = teacher_buckets(logits, kept.top_k, kept.temperature)
        text = torch.log_softmax(logits, -1).gather(-1, window[1:, None])
        tensors = {
            "top_ids": top_ids.to(torch.int32),
            "log_probs": log_probs,
            "likelihood": text.mean(),
        }
        if kept.layers:
            states = [said.hidden_states[layer][0, :-1] for layer in kept.layers]
            tensors["hidden"] = torch.stack(states)
    return {name: values.cpu().clone().contiguous() for name, values in tensors.items()}
