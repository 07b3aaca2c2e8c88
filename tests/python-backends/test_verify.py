"""`verify`: passes what was written well and names what was not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_model import act, tiny_dir

from pare_backends.checkpoint import read, write
from pare_backends.failures import StageFailure
from pare_backends.progress import Report, silent_report
from pare_backends.quantization.rounding import round_matrix
from pare_backends.stages.verify import COSINE_FLOOR, VerifyRequest, cosine, run

LAYER = "model.layers.1.mlp.down_proj"


def verified(directory: Path) -> dict[str, object]:
    return run(VerifyRequest(str(directory), str(tiny_dir())), silent_report())


def rows(value: object) -> list[dict[str, Any]]:
    assert isinstance(value, list)
    return value


def test_a_good_artifact_passes_and_speaks(tmp_path: Path) -> None:
    act(tmp_path / "child", "rtn", {"bits": 8, "group_size": 32})
    result = verified(tmp_path / "child")
    assert result["layers"] == 20
    assert 0.999 < float(str(result["minimum_cosine"])) <= float(str(result["mean_cosine"])) <= 1
    cosines = {row["layer"]: row["value"] for row in rows(result["cosines"])}
    assert len(cosines) == 20 and min(cosines.values()) == result["minimum_cosine"]
    assert cosines[str(result["worst_layer"])] == result["minimum_cosine"]
    assert result["mean_cosine"] == pytest.approx(np.mean(list(cosines.values())))
    source, child = read(tiny_dir()), read(tmp_path / "child")
    for layer, value in cosines.items():
        a, b = (one.weight(layer).ravel().astype(np.float64) for one in (source, child))
        expected = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        assert value == pytest.approx(expected, abs=1e-6), layer
    words = str(result["generated_text"]).split()
    assert len(words) == 12 and "lives" in words


def test_each_second_is_in_a_span_of_its_own(tmp_path: Path) -> None:
    act(tmp_path / "child", "int8", {})
    events: list[dict[str, Any]] = []
    request = VerifyRequest(str(tmp_path / "child"), str(tiny_dir()))
    result = run(request, Report(events.append))
    spans = {e["name"]: (e["seconds"], e["library"]) for e in events if e["event"] == "span"}
    libraries = {name: library for name, (_, library) in spans.items()}
    assert libraries == {"verify": False, "load": True, "generate": True}
    total = sum(seconds for seconds, _ in spans.values())
    assert 0.95 * float(result["seconds"]) < total <= float(result["seconds"])


def test_scales_in_the_wrong_order_are_found(tmp_path: Path) -> None:
    act(tmp_path / "child", "rtn", {"bits": 4, "group_size": 32})
    child = read(tmp_path / "child")
    tensor = child.stored[LAYER]
    wrong = replace(tensor, ints=np.ascontiguousarray(tensor.ints[::-1]))
    write(replace(child, stored={**child.stored, LAYER: wrong}), tmp_path / "wrong")
    with pytest.raises(StageFailure, match=LAYER) as caught:
        verified(tmp_path / "wrong")
    assert caught.value.kind == "verification"


def test_a_missing_layer_is_found(tmp_path: Path) -> None:
    source = read(tiny_dir())
    floats = {n: source.floats[n] for n in source.floats if n != f"{LAYER}.weight"}
    write(replace(source, floats=floats), tmp_path)
    with pytest.raises(StageFailure, match=f"{LAYER} is missing"):
        verified(tmp_path)


def test_not_a_number_is_named(tmp_path: Path) -> None:
    source = read(tiny_dir())
    floats = {n: np.array(source.floats[n]) for n in source.floats}
    floats[f"{LAYER}.weight"][0, 0] = np.nan
    write(replace(source, floats=floats), tmp_path)
    with pytest.raises(StageFailure) as caught:
        verified(tmp_path)
    assert caught.value.kind == "not_a_number"


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_floors_lie_below_what_plain_rounding_of_whole_rows_leaves(bits: int) -> None:
    weights = np.random.default_rng(0).standard_normal((64, 1536)).astype(np.float32)
    back = round_matrix("w", weights, bits, -1, symmetric=True).dequantize()
    assert cosine("w", back, weights) > COSINE_FLOOR[bits]


def test_the_cosine_of_a_large_matrix_is_exact() -> None:
    values = np.random.default_rng(0).standard_normal((8192, 512)).astype(np.float32) + 3
    assert cosine("w", values.astype(np.float16).astype(np.float32), values) > 1 - 1e-6
    assert cosine("w", values, values) == pytest.approx(1, abs=1e-12)
