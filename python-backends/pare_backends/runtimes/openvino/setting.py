"""How OpenVINO computes a graph, where that can be set: the knobs that its plugin declares."""

from __future__ import annotations

from pare_backends.knobs import declared_knobs

AS_THE_ARTIFACT = -1


@declared_knobs
class Params:
    kv_precision: str
    inference_precision: str
    input_group: int
    threads: int
    pinning: bool
