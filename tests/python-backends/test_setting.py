"""An artifact that is a setting: written, read, refused, evaluated and timed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_model import act, action, tiny_dir

from pare_backends.calls import apply, speed, verify
from pare_backends.checkpoint import load_dequantized, read
from pare_backends.checkpoint.setting import (
    SETTING,
    Setting,
    method_params,
    read_setting,
    setting_of,
    source_of,
)
from pare_backends.checkpoint.stored_form import stored_form
from pare_backends.failures import CallFailure
from pare_backends.progress import silent_report

PARENT = "0123456789abcdef"
VALUES = {
    **{"sinks": 2, "window": 16, "evicts": "each_token"},
    **{"budget_in": "tokens", "share": 0.25},
}
"""What `streaming` below is written with."""


def streaming(out: Path, **values: Any) -> dict[str, Any]:
    """The call's result; the setting lies in `out`."""
    return made(out, "streaming", {"sinks": 2, "window": 16, **values})


def made(out: Path, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The same of any method of the cache."""
    request = action(out, "kv_cache", method, params, parent_id=PARENT)
    return apply.run(request, silent_report())


def test_a_setting_is_one_small_file_whose_size_is_that_of_the_weights_and_its_own(
    tmp_path: Path,
) -> None:
    out = tmp_path / "setting"
    result = streaming(out)
    assert [path.name for path in out.iterdir()] == [SETTING]
    written = json.loads((out / SETTING).read_text())
    assert written == {
        "format": 1,
        "kind": "kv_cache",
        "policy": "streaming",
        "values": VALUES,
        "weights": PARENT,
    }
    weights = (tiny_dir() / "model.safetensors").stat().st_size
    assert result["size_bytes"] == weights + (out / SETTING).stat().st_size
    assert result["loader"] == "pare"
    assert "keys and values of the first 2 and the last 16 tokens" in result["notes"][0]


def test_it_is_loaded_with_its_weights_given_or_beside_it(tmp_path: Path) -> None:
    out = tmp_path / "setting"
    streaming(out)
    model, _ = load_dequantized(out, tiny_dir())
    setting = setting_of(model)
    assert setting is not None and setting.values == VALUES
    for path in tiny_dir().iterdir():
        (out / path.name).write_bytes(path.read_bytes())
    beside, _ = load_dequantized(out)
    text = torch.arange(40)[None] + 3
    with torch.no_grad():
        assert torch.equal(model(text).logits, beside(text).logits)
        assert not torch.equal(model(text).logits, load_dequantized(tiny_dir())[0](text).logits)


def test_without_its_weights_it_says_whose_they_are(tmp_path: Path) -> None:
    streaming(tmp_path)
    with pytest.raises(CallFailure, match=f"setting, kv_cache/streaming .*{PARENT}"):
        load_dequantized(tmp_path)
    with pytest.raises(CallFailure, match=f"it is a setting, .*{PARENT}"):
        read(tmp_path)
    with pytest.raises(CallFailure, match="it is no setting"):
        source_of(str(tiny_dir()), str(tmp_path))


def test_nothing_follows_a_setting(tmp_path: Path) -> None:
    streaming(tmp_path / "setting")
    with pytest.raises(CallFailure, match="Cannot read weights from") as raised:
        act(tmp_path / "out", "rtn", {}, tmp_path / "setting")
    assert "the last of a strategy" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "format 1"),
        ({"kind": "../kv_cache"}, 'Unknown kind of setting "../kv_cache"'),
        ({"kind": "stages", "policy": "apply"}, 'Unknown kind of setting "stages"'),
        ({"policy": "os"}, 'Unknown policy "os"'),
        ({"kind": "quantization", "policy": "rtn", "values": {}}, "it is no setting"),
        ({"values": {"sinks": 2, "window": 1}}, "Cannot set window to 1"),
        ({"values": {"sinks": 2, "windowz": 99}}, 'Did you mean "window"'),
        ({"values": []}, "values"),
        ({"weights": "/etc"}, "an artifact's id"),
        ({"weights_dir": "/etc"}, 'Unknown field "weights_dir"'),
    ],
)
def test_what_the_file_says_is_checked(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    streaming(tmp_path)
    path = tmp_path / SETTING
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(CallFailure) as raised:
        read_setting(tmp_path)
    assert said in raised.value.message


def test_a_file_from_before_a_knob_came_means_what_it_meant() -> None:
    values = {"budget_in": "tokens", "budget": 64, "share": 0.25, "sinks": 0, "window": 16}
    setting = Setting("kv_cache", "snapkv", {**values, "kernel": 5, "pool": "mean"}, PARENT)
    assert method_params(setting).granularity == "kv_head_mean"


def test_a_file_that_is_no_json_too_long_or_a_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / SETTING
    for text in ("", "[]", "{" * 100_000, '"' + "a" * 200_000 + '"'):
        path.write_text(text)
        with pytest.raises(CallFailure, match="Cannot read"):
            read_setting(tmp_path)
    path.unlink()
    path.symlink_to("/etc/hostname")
    with pytest.raises(CallFailure, match="outside of it"):
        read_setting(tmp_path)


def test_verification_runs_with_the_policy_on_the_parents_weights(tmp_path: Path) -> None:
    streaming(tmp_path)
    request = verify.VerifyRequest(str(tmp_path), str(tiny_dir()), str(tiny_dir()))
    found = verify.run(request, silent_report())
    assert found["generated_text"]


def test_the_stored_form_of_a_setting_is_its_own(tmp_path: Path) -> None:
    streaming(tmp_path / "a")
    streaming(tmp_path / "b", window=32)
    forms = {
        stored_form(tiny_dir(), read_setting(directory))
        for directory in (tmp_path / "a", tmp_path / "b", tiny_dir())
    }
    assert len(forms) == 3
    assert stored_form(tiny_dir()) in forms


def speed_request(artifact: Path, runtime: str = "transformers") -> speed.Request:
    return speed.Request(
        runtime=runtime,
        artifact_dir=str(artifact),
        baseline_dir=str(tiny_dir()),
        form_dir=None,
        baseline_form_dir=None,
        prompt_tokens=8,
        new_tokens=4,
        least_passes=1,
        most_passes=1,
        half_width=0.02,
        seed=1,
        cpu_power=None,
        carbon_intensity=None,
        weights_dir=str(tiny_dir()),
    )


def test_speed_gets_the_policy_and_counts_the_bytes_of_the_cache(tmp_path: Path) -> None:
    streaming(tmp_path)
    result = speed.run(speed_request(tmp_path), silent_report())
    a_token = 2 * 2 * 2 * 16 * 4  # keys and values, layers, heads, features, float32

    def counted(rows: list[dict[str, Any]]) -> dict[str | None, int]:
        return {row["slice"]: row["value"] for row in rows if row["metric"] == "kv_bytes"}

    own, full = counted(result["measurements"]), counted(result["baseline_measurements"])
    assert own == {"128 tokens": 18 * a_token, None: 18 * a_token}
    assert full == {"128 tokens": 128 * a_token, None: 128 * a_token}
    rows = [row for row in result["measurements"] if row["metric"] == "kv_bytes"]
    assert {r["provenance"] for r in rows} == {"measured"}
    assert "256 at a time: 18 tokens kept a head, mean over 2 layers" in rows[0]["method"]
    of = {row["metric"]: row for row in result["measurements"]}
    times = {"latency_ms", "latency_ratio", "prefill_ratio", "prefill_tokens_per_s"}
    assert {of[name]["provenance"] for name in times} == {"emulated"}
    assert of["memory_bytes"]["provenance"] == "measured"
    beside = {row["metric"]: row["provenance"] for row in result["baseline_measurements"]}
    assert beside["latency_ms"] == "measured"
    latency = of["latency_ms"]
    assert "kv_cache/streaming (" in latency["method"]
    assert "sinks 2, window 16)" in latency["method"]


def test_a_policy_that_chooses_after_a_prompt_reads_each_length_as_one(tmp_path: Path) -> None:
    made(tmp_path, "snapkv", {"budget": 20, "window": 8})
    result = speed.run(speed_request(tmp_path), silent_report())
    a_token = 2 * 2 * 2 * 16 * 4
    rows = [row for row in result["measurements"] if row["metric"] == "kv_bytes"]
    assert {row["slice"]: row["value"] for row in rows} == {
        "128 tokens": 20 * a_token,
        None: 20 * a_token,
    }
    assert "tokens, at once: 20 tokens kept a head" in rows[0]["method"]
    request = verify.VerifyRequest(str(tmp_path), str(tiny_dir()), str(tiny_dir()))
    assert verify.run(request, silent_report())["generated_text"]
