"""llama.cpp's quantizer on a checkpoint: its floats go as a GGUF file to a process of llama.cpp's
environment, which holds no torch; the blocks come back."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint import GgmlTensor
from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS
from pare_backends.failures import CallFailure
from pare_backends.methods.context import Context
from pare_backends.models.layout import Stack
from pare_backends.progress import Report
from pare_backends.runtimes.registry import writer_of

LIFE_SECONDS = 2.0
FLOATS = 0  # ggml's number of float32: the tensor stays as it is
FILE = "model.gguf"
QUANTIZED = "quantized.gguf"


@dataclass(frozen=True)
class Wanted:
    """What the quantizer is asked for. Kinds are ggml's, such as Q4_K."""

    mix: str
    embedding: str  # a kind, mix or floats
    head: str
    kinds: Mapping[str, str]  # of single layers, by name; those of the mix are left out
    importance: Mapping[str, np.ndarray]  # (in,) float32 by layer, (experts, in); empty: none


@dataclass(frozen=True)
class FloatFile:
    """A checkpoint's floats as a GGUF file, which can be quantized more than once."""

    folder: Path
    layout: Any  # GgufLayout of the checkpoint
    python: str
    report: Report
    transposed: frozenset[str]  # layers that the checkpoint holds as (in, out)
    stacks: Mapping[str, Stack]  # layers that hold a block's experts

    def in_one_tensor(self, layers: Sequence[str]) -> list[list[str]]:
        """The layers by the tensors of the file that hold them, each once."""
        held = in_one_tensor(self.named(layers)).values()
        return [list(one) for one in dict.fromkeys(tuple(layers) for layers in held)]

    def named(self, layers: Sequence[str]) -> dict[str, list[str]]:
        """The tensors of the file that hold each layer: more than one where it is several there."""
        return {layer: self.layout.names(f"{layer}.weight") for layer in layers}

    def in_file(self, importance: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What columns weigh by layer, in the file's order of columns."""
        orders = {layer: self.layout.column_order(f"{layer}.weight") for layer in importance}
        return {
            layer: values if (order := orders[layer]) is None else values.reshape(-1)[order]
            for layer, values in importance.items()
        }

    def quantize(self, layers: Sequence[str], wanted: Wanted) -> dict[str, GgmlTensor]:
        """The blocks of these layers. Those that llama.cpp left in floats are not among them, nor
        those whose rows no file has as they are.

        raises: CallFailure "invalid" where llama.cpp refuses, with what it said
        """
        rows = self.layout.holds_rows
        named = self.named([one for one in layers if rows(f"{one}.weight")])
        torn = self.named([one for one in layers if one not in named]).values()
        job = {
            "source": str(self.folder / FILE),
            "output": str(self.folder / QUANTIZED),
            "mix": wanted.mix,
            "threads": self.report.threads,
            "embedding": number_of(wanted.embedding),
            "head": number_of(wanted.head),
            "kinds": {
                name: BLOCK_KINDS[kind].number
                for one, kind in wanted.kinds.items()
                for name in named.get(one, ())
            }
            | {name: FLOATS for names in torn for name in names},
            "importance": importance_file(self.folder, self.in_file(wanted.importance), named),
        }
        (self.folder / "job.json").write_text(json.dumps(job))
        with self.report.span("quantize", library=True):
            run_program(self.python, self.folder, self.report)
        made = read_blocks(self.folder / QUANTIZED, self.layout, named)
        return {
            layer: replace(
                tensor,
                transposed=layer in self.transposed,
                experts=len(self.stacks.get(layer, ())),
            )
            for layer, tensor in made.items()
        }


@contextmanager
def float_file(context: Context) -> Iterator[FloatFile]:
    """The parent's floats as such a file, which is gone afterwards.

    raises: CallFailure where llama.cpp is not here, or cannot hold the model
    """
    if context.tool_python is None:
        raise CallFailure(
            "bad_input",
            "Cannot quantize by llama.cpp: no interpreter of the environment llama_cpp was given",
            hint="Run `npx -y deno task pare setup llama_cpp`, which makes it",
        )
    with tempfile.TemporaryDirectory(dir=context.work_dir, prefix="gguf-") as name:
        folder = Path(name)
        config = json.loads((context.parent_dir / "config.json").read_text())
        layout = writer_of("gguf", "gguf_layout").GgufLayout(config)
        writer_of("gguf", "make").write_gguf(
            context.parent_dir, folder, True, context.report, multiplies=False
        )
        own = (context.layout.transposed, context.layout.stacks)
        yield FloatFile(folder, layout, context.tool_python, context.report, *own)


def number_of(kind: str) -> int | None:
    """ggml's number of a kind; None: as the mix has it."""
    if kind == "mix":
        return None
    return FLOATS if kind == "floats" else BLOCK_KINDS[kind].number


def importance_file(
    folder: Path, importance: Mapping[str, np.ndarray], named: Mapping[str, Sequence[str]]
) -> str | None:
    """Where the matrix lies, by the tensors' names in the file; None: there is none."""
    if not importance:
        return None
    path = folder / "importance.npz"
    arrays: dict[str, Any] = {}
    for name, layers in in_one_tensor(named).items():
        known = [importance[layer] for layer in layers if layer in importance]
        if known:
            # An expert that no token was sent to weighs its columns as the others do on average.
            usual = np.mean(known, axis=0)
            every = [importance.get(layer, usual).reshape(-1) for layer in layers]
            arrays[name] = np.concatenate(every)
    np.savez(path, **arrays)
    return str(path)


def in_one_tensor(named: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The layers of each tensor of the file: one, or all experts' in the order of the experts."""
    expert_of = writer_of("gguf", "gguf_layout").expert_of
    found: dict[str, list[str]] = {}
    for layer, names in named.items():
        for name in names:
            found.setdefault(name, []).append(layer)
    return {
        name: sorted(layers, key=lambda layer: int(expert_of(f"{layer}.weight")))
        for name, layers in found.items()
    }


def run_program(python: str, folder: Path, report: Report) -> None:
    """Runs the quantizer to its end, and says that it lives."""
    output = folder / QUANTIZED
    with (folder / "errors.txt").open("w+") as errors:
        # In this process's group: what ends this one ends that one.
        process = subprocess.Popen(
            [python, "-m", writer_of("gguf", "make").QUANTIZER, str(folder / "job.json")],
            stdin=subprocess.DEVNULL,
            stdout=2,
            stderr=errors,
        )
        while True:
            try:
                status = process.wait(LIFE_SECONDS)
                break
            except subprocess.TimeoutExpired:
                written = output.stat().st_size if output.exists() else 0
                report.progress("quantize by llama.cpp", written, None, "bytes")
        errors.seek(0)
        said = errors.read().strip()
    if status < 0:
        raise CallFailure("crash", f"Cannot quantize: llama.cpp ended by signal {-status}: {said}")
    if status != 0:
        raise CallFailure("invalid", f"Cannot quantize by llama.cpp: {said}")


def read_blocks(
    path: Path, layout: Any, named: Mapping[str, Sequence[str]]
) -> dict[str, GgmlTensor]:
    """The layers of a file that are blocks, their rows in the checkpoint's order."""
    from gguf import GGUFReader

    tensors = {one.name: one for one in GGUFReader(path).tensors}
    made = {}
    for layer, names in named.items():
        held = [tensors[name] for name in names]
        kinds = {one.tensor_type.name for one in held}
        kind = kinds.pop()
        if (
            kinds or kind not in BLOCK_KINDS
        ):  # what is several in the file is of one kind, or floats
            continue
        tensor = f"{layer}.weight"
        expert = writer_of("gguf", "gguf_layout").expert_of(tensor)
        own = [np.array(one.data if expert < 0 else one.data[expert]) for one in held]  # it goes
        blocks = writer_of("gguf", "file_tensors").block_rows(layout, tensor, kind, own)
        made[layer] = GgmlTensor(blocks, kind, int(held[0].shape[0]))
    return made
