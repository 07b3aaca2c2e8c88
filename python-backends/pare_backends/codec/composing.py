"""Every layer in every setting: what each takes and costs, and the codes themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from pare_backends.checkpoint import StoredTensor
from pare_backends.checkpoint.forms import forms_by_layer
from pare_backends.checkpoint.stored import StoredTensors, file_entries
from pare_backends.codec.settings import Matrix, Setting
from pare_backends.failures import CallFailure
from pare_backends.models.whole_file import save_whole
from pare_backends.quantization.mixing.one_layer import Inputs
from pare_backends.quantization.mixing.restart import RestartableModel
from pare_backends.quantization.mixing.scores import Place, Scoring

if TYPE_CHECKING:
    from pare_backends.methods.context import Context


@dataclass(frozen=True)
class Codes:
    """Layers that are encoded already, a file for each in each setting: whole or not there."""

    folder: Path

    def path(self, setting: str, layer: str) -> Path:
        return self.folder / setting / f"{layer}.safetensors"

    def keep(self, setting: str, layer: str, tensor: StoredTensor) -> None:
        """Writes a code as it will lie in the checkpoint."""
        import torch

        path = self.path(setting, layer)
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = {
            # An entropy coded one is of bytes that cannot be written, which torch warns of.
            f"{layer}{part}": torch.from_numpy(np.require(values, requirements=("C", "W")))
            for part, values in tensor.parts().items()
        }
        save_whole(
            path,
            parts,
            f"keep the code of {layer}",
            "Free some space: the action goes on after the last layer that was kept",
        )

    def find(self, setting: str, layer: str) -> StoredTensor | None:
        """What `keep` wrote; None: nothing."""
        path = self.path(setting, layer)
        if not path.exists():
            return None
        entries = file_entries(path)
        return forms_by_layer(entries)[layer].read(StoredTensors(entries), layer, {})

    def taken(self, chosen: Mapping[str, str]) -> dict[str, StoredTensor]:
        """The codes of a composition. chosen: setting by layer

        raises: CallFailure "crash" where one is gone
        """
        found = {layer: self.find(setting, layer) for layer, setting in chosen.items()}
        for layer, tensor in found.items():
            if tensor is None:
                raise CallFailure(
                    "crash",
                    f"Cannot take {layer} as {chosen[layer]}: it is not in {self.folder} any more",
                    hint="Run it again: the layer is encoded anew",
                )
        return {layer: tensor for layer, tensor in found.items() if tensor is not None}


@contextmanager
def open_codes(context: Context) -> Iterator[Codes]:
    """Within, codes in the action's own folder; without that, in one that is gone afterwards."""
    if context.work_dir is not None:
        yield Codes(context.work_dir / "codes")
        return
    with TemporaryDirectory(prefix="pare-codes-") as made:
        yield Codes(Path(made))


@dataclass
class CodeScoring(Scoring):
    """The pass over all layers, each encoded in every setting as it is scored."""

    codes: Codes = field(default_factory=lambda: Codes(Path()))

    def made(
        self, one: Setting, layer: str, weight: np.ndarray, inputs: Inputs
    ) -> tuple[StoredTensor, np.ndarray] | None:
        transposed = layer in self.layout.transposed
        tensor = self.codes.find(one.name, layer)
        if tensor is None:
            tensor = one.encode(Matrix(layer, weight, inputs.values, transposed, self.seed))
            if tensor is None:
                return None
            tensor.check(layer)
            self.codes.keep(one.name, layer, tensor)
        matrix = tensor.weight().T if transposed else tensor.weight()
        return tensor, np.ascontiguousarray(matrix)

    def value(
        self,
        restart: RestartableModel,
        scorer: str,
        at: Place,
        form: str,
        tensor: StoredTensor,
        matrix: np.ndarray,
    ) -> tuple[float, float | None, int] | None:
        """As `Scoring`'s, but fisher sees how a row's errors hang together: a code that is fitted
        to the inputs, as `vptq`'s, errs where they cancel, which a sum over weights counts in full.

        ½ Σ F_o · mean (Δy_o)², F_o the Fisher information of output o: that of its weights over the
        squares of their inputs, as both are taken for independent (K-FAC, arXiv 1503.05671).
        """
        import torch

        if scorer != "fisher" or not at.inputs.values:
            return super().value(restart, scorer, at, form, tensor, matrix)
        change = torch.from_numpy(matrix) - self.weight(at.layer)
        rows = [given.reshape(-1, given.shape[-1]) for given in at.inputs.values]
        tokens = sum(len(given) for given in rows)
        with torch.no_grad():
            squares = sum(float(given.double().square().sum()) for given in rows)
            errors = sum((given @ change.T).double().square().sum(0) for given in rows)
            own = self.fisher[at.layer].double().sum(1) * tokens / max(squares, 1e-30)
            # Per token of the text: of these an expert sees some.
            half = 0.5 * float((own * errors).sum()) / tokens
        return half, None, self.windows.numel()
