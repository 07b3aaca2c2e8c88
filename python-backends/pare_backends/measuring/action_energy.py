"""What an action cost in joules, as a figure of the artifact that it made."""

from __future__ import annotations

from pare_backends.measuring.energy import energy_reader, estimate_reader
from pare_backends.measuring.energy_tables import UNKNOWN_CPU, CpuPower
from pare_backends.methods.figures import Figure

METRICS = {"measured": "energy_j", "estimated": "estimated_energy_j"}
"""By a reader's provenance: an estimate never stands under the name of a measurement."""


class ActionEnergy:
    """Counts from here on: of an action that goes on after a kill, only what it took since.

    A device's counter has in it all that runs there, idle power too; an estimate has the CPU time
    of this process alone. Where calls of other trials run `beside` it on the processor, the
    estimate counts: the counter would give each of them the energy of all."""

    def __init__(self, device: str, power: CpuPower | None, beside: bool = False) -> None:
        estimated = beside and device == "cpu"
        self._reader = (
            estimate_reader(power or UNKNOWN_CPU)
            if estimated
            else energy_reader(device, power or UNKNOWN_CPU)
        )
        self._begun = self._reader.now()

    def so_far(self) -> tuple[list[Figure], str]:
        """Joules since the start, and the sentence that says how they were counted; no figure where
        the action was over before the device's counter moved (on an H200 it does every 0.1 s)."""
        metric = METRICS[self._reader.provenance]
        joules = self._reader.now() - self._begun
        words = metric.removesuffix("_j").replace("_", " ")
        if joules == 0:
            return [], f"No energy is told: {self._reader.method} did not move meanwhile"
        how = f"{words} is the action's own: {self._reader.method}, {self._reader.how}"
        return [Figure(metric, None, joules, "J")], how
