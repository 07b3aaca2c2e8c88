"""`verify`: passes what was written well and names what was not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_model import act, tiny_dir

from pare_backends.calls.verify import VerifyRequest, run
from pare_backends.checkpoint import GridTensor, read, write
from pare_backends.checkpoint.soundness import cosine
from pare_backends.models.tiny_text import words as language
from pare_backends.progress import Report, silent_report

BLOCKS = "model.layers"
LAYER = f"{BLOCKS}.1.mlp.down_proj"
FIRST = f"{BLOCKS}.0.mlp.down_proj"


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
    assert len(words) == 12 and set(words) <= set(language()) and len(set(words)) > 4


def test_each_second_is_in_a_span_of_its_own(tmp_path: Path) -> None:
    act(tmp_path / "child", "int8", {})
    events: list[dict[str, Any]] = []
    request = VerifyRequest(str(tmp_path / "child"), str(tiny_dir()))
    result = run(request, Report(events.append))
    spans = {e["name"]: (e["seconds"], e["library"]) for e in events if e["event"] == "span"}
    libraries = {name: library for name, (_, library) in spans.items()}
    assert libraries == {"verify": False, "load": True, "generate": True}
    total = sum(seconds for seconds, _ in spans.values())
    # Between the spans lie a few ms, more where others have the cores.
    assert 0 <= float(result["seconds"]) - total < max(0.05 * float(result["seconds"]), 0.05)


def part(result: dict[str, object], name: str) -> dict[str, Any]:
    return next(one for one in rows(result["parts"]) if one["part"] == name)


def test_what_was_left_alone_and_what_was_changed_are_told_apart(tmp_path: Path) -> None:
    act(tmp_path / "child", "rtn", {"bits": 4, "group_size": 32})
    result = verified(tmp_path / "child")
    found = {one["part"]: one["layers"] for one in rows(result["parts"])}
    assert found == {"linear": 14, "embedding": 1, "norm": 5, "bias": 0, "other": 0}
    assert part(result, "linear")["minimum_cosine"] == result["minimum_cosine"]
    assert float(str(result["minimum_cosine"])) < 0.9999
    assert part(result, "embedding")["minimum_cosine"] > 0.9999999
    assert part(result, "norm")["worst_layer"].endswith("norm")
    assert part(result, "bias")["minimum_cosine"] is part(result, "bias")["differs"] is None
    assert result["not_finite"] is result["not_generated"] is None


def test_rows_in_the_wrong_order_show_in_the_cosine(tmp_path: Path) -> None:
    act(tmp_path / "child", "rtn", {"bits": 4, "group_size": 32})
    child = read(tmp_path / "child")
    tensor = child.in_form(GridTensor)[LAYER]
    wrong = replace(tensor, ints=np.ascontiguousarray(tensor.ints[::-1]))
    write(replace(child, stored={**child.stored, LAYER: wrong}), tmp_path / "wrong")
    result = verified(tmp_path / "wrong")
    assert result["worst_layer"] == LAYER == part(result, "linear")["worst_layer"]
    assert abs(float(str(result["minimum_cosine"]))) < 0.2


def test_a_missing_and_a_new_tensor_are_counted_and_named(tmp_path: Path) -> None:
    source = read(tiny_dir())
    floats = {n: source.floats[n] for n in source.floats if n != f"{LAYER}.weight"}
    write(replace(source, floats={**floats, "extra.weight": np.ones(3)}), tmp_path)
    result = verified(tmp_path)
    linear, other = part(result, "linear"), part(result, "other")
    assert (linear["missing"], linear["layers"]) == (1, 13)
    assert linear["differs"] == f"{LAYER} is missing"
    assert (other["added"], other["differs"]) == (1, "extra is new")
    assert "hold nothing for" in str(result["not_generated"]) and result["generated_text"] == ""


def test_another_shape_is_a_fact_with_both_shapes(tmp_path: Path) -> None:
    """A narrower MLP, as a method that resizes leaves it: it loads and generates."""
    source = read(tiny_dir())
    sizes = {"gate_proj": (96, 64), "up_proj": (96, 64), "down_proj": (64, 96)}
    shapes = {f"{BLOCKS}.{n}.mlp.{name}": sides for n in range(2) for name, sides in sizes.items()}
    cut = {f"{name}.weight": source.weight(name)[:o, :i] for name, (o, i) in shapes.items()}
    config = {**source.config, "intermediate_size": 96}
    write(replace(source.with_floats(cut), config=config), tmp_path)
    result = verified(tmp_path)
    linear = part(result, "linear")
    assert (linear["reshaped"], linear["missing"], linear["layers"]) == (6, 0, 8)
    assert linear["differs"] == f"{FIRST} is 64 by 96, its source 64 by 128"
    assert result["not_generated"] is None and len(str(result["generated_text"]).split()) == 12


def test_not_a_number_is_named_and_generates_nothing(tmp_path: Path) -> None:
    source = read(tiny_dir())
    floats = {n: np.array(source.floats[n]) for n in source.floats}
    floats[f"{LAYER}.weight"][0, 0] = np.nan
    write(replace(source, floats=floats), tmp_path)
    result = verified(tmp_path)
    assert result["not_finite"] == LAYER and "not finite" in str(result["not_generated"])
    assert part(result, "linear")["layers"] == 13 and np.isfinite(float(str(result["mean_cosine"])))


def test_the_cosine_of_a_large_matrix_is_exact() -> None:
    values = np.random.default_rng(0).standard_normal((8192, 512)).astype(np.float32) + 3
    assert cosine(values.astype(np.float16).astype(np.float32), values) > 1 - 1e-6
    assert cosine(values, values) == pytest.approx(1, abs=1e-12)


def test_blocks_that_moved_up_are_compared_with_none(tmp_path: Path) -> None:
    act(tmp_path / "child", "depth", {"blocks": 1, "samples": 8}, agent="pruning")
    result = verified(tmp_path / "child")
    compared = {row["layer"] for row in rows(result["cosines"])}
    assert compared == {"model.embed_tokens", "model.norm"}
    assert result["minimum_cosine"] == pytest.approx(1, abs=1e-6)
    missing = {part["part"]: part["missing"] for part in rows(result["parts"])}
    assert missing["linear"] == 7
