"""What every runtime gives to the call `speed`: a model that is ready to generate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from pare_backends.checkpoint.setting import Setting


@dataclass(frozen=True)
class Numerics:
    """Numbers that a runtime computes with (`Numerics` of `core/schemas/measurement.ts`)."""

    inference_precision: str
    kv_precision: str
    activation_group: int  # 0 = activations are not quantized


class Session(Protocol):
    """A loaded model. One sequence at a time; greedy."""

    numerics: Numerics
    device: str  # cpu or cuda
    provenance: str  # measured, or emulated where what is stored, or kept, is not what runs
    bytes_read_per_token: int  # weights that one generated token needs, as the runtime holds them
    notes: tuple[str, ...]
    weights_dir: str  # of the weights that it computes with: the artifact's, or its form's
    imports_torch: bool  # by itself: its peak memory holds torch

    def prefill(self, tokens: np.ndarray) -> int:
        """Starts a new sequence with these tokens and returns the next one. tokens: (n,) int64."""
        ...

    def decode(self, token: int) -> int:
        """Appends one token and returns the next one."""
        ...

    def gpu_peak_bytes(self) -> int | None:
        """Largest memory on the GPU so far; None where there is none."""
        ...


@runtime_checkable
class TakesSetting(Protocol):
    """A session that can run as a setting says."""

    held: str
    """Provenance of its memory: that of its weights, whatever setting they run with."""

    def take_setting(self, setting: Setting) -> None:
        """Runs so from now on."""
        ...
