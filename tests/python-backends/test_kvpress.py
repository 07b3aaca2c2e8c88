"""Presses of kvpress: what they leave is what the policy keeps, by kvpress's own pipeline.

The library itself is in an environment that is made on request: `pare setup kvpress`.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from oracles.kept_positions import model_of, tokens

from pare_backends.cache.kept import kept_bytes
from pare_backends.cache.own_press import installed_files, require_named
from pare_backends.cache.policy import Seen
from pare_backends.cache.pressed import Pressed, attach_press, kept_by
from pare_backends.cache.reading import read_context, read_contexts
from pare_backends.calls.given.check_settings import CheckSettingsRequest, run
from pare_backends.checkpoint.setting import ATTRIBUTE, Setting
from pare_backends.checkpoint.soundness import generate
from pare_backends.failures import CallFailure
from pare_backends.kv_cache.kvpress import Params, attach, policy_of
from pare_backends.progress import silent_report

PYTHON = os.environ.get("PARE_ENV_KVPRESS")
"""Interpreter of the library's environment, where it is made."""


class Shortest:
    """A press of nobody's: the shortest keys of a layer, in the order of their lengths."""

    def __init__(self, ratio: float) -> None:
        self.ratio = ratio

    def post_init_from_model(self, model: Any) -> None:
        self.model = model

    def forward_hook(self, module: Any, _: Any, named: dict[str, Any], output: Any) -> Any:
        layer = named["past_key_values"].layers[module.layer_idx]
        count = int(layer.keys.shape[-2] * (1 - self.ratio))
        assert named["hidden_states"].shape[1] == layer.keys.shape[-2], "the prompt alone"
        assert int(named["cache_position"][-1]) + 1 == layer.keys.shape[-2]
        at = layer.keys.norm(dim=-1).topk(count, largest=False).indices[..., None]
        layer.keys = layer.keys.gather(2, at.expand(*at.shape[:3], layer.keys.shape[-1]))
        layer.values = layer.values.gather(2, at.expand(*at.shape[:3], layer.values.shape[-1]))
        return output


class Changing(Shortest):
    """Leaves keys that the model did not make."""

    def forward_hook(self, module: Any, _: Any, named: dict[str, Any], output: Any) -> Any:
        named["past_key_values"].layers[module.layer_idx].keys.mul_(2)
        return output


class Hiding(Shortest):
    """Hides keys in place of letting go of them."""

    def forward_hook(self, module: Any, _: Any, named: dict[str, Any], output: Any) -> Any:
        module.masked_key_indices = (torch.tensor([0]),) * 3
        return output


class Failing(Shortest):
    """Cannot read so short a prompt."""

    def forward_hook(self, module: Any, _: Any, named: dict[str, Any], output: Any) -> Any:
        raise AssertionError("a longer prompt is wanted")


def test_what_a_press_leaves_is_kept_and_counted() -> None:
    model = attach_press(model_of("llama"), Pressed(Shortest(0.75), "shortest"))
    cache = read_context(model, tokens())
    own = json.loads((Path(__file__).parent / "oracles" / "kept_positions.json").read_text())
    found = [[" ".join(map(str, head)) for head in one.places[0].tolist()] for one in cache.layers]
    assert found == own["kept"]["llama"]["knorm 30"]
    assert kept_bytes(cache) == 3 * 2 * 2 * 30 * 8 * 8
    shared = read_contexts(model, [beside(model, 0.5), beside(model, 0.75)], tokens())
    assert [one.cache.layers[0].places.shape[-1] for one in shared] == [60, 30]
    assert torch.equal(shared[1].cache.layers[2].places, cache.layers[2].places)


def beside(model: Any, ratio: float) -> Pressed:
    """A press beside the model's own."""
    from pare_backends.cache.attach import gathered_policies

    with gathered_policies() as found:
        attach_press(model, Pressed(Shortest(ratio), "shortest"))
    (one,) = found
    assert isinstance(one, Pressed)
    return one


@pytest.mark.parametrize(
    ("press", "why"),
    [
        (Changing, "what it leaves are not some of the tokens as they were"),
        (Hiding, "it hides keys of some heads and keeps them all"),
        (Failing, "AssertionError: a longer prompt is wanted"),
    ],
)
def test_what_leaves_no_tokens_of_the_prompt_is_refused(press: Any, why: str) -> None:
    model = attach_press(model_of("llama"), Pressed(press(0.5), "mine"))
    with pytest.raises(CallFailure, match=f"Cannot press a prompt of 120 tokens with mine: {why}"):
        read_context(model, tokens())


class Windowed(Shortest):
    """Looks at a window of the prompt, as SnapKVPress at its last 64 tokens."""

    def forward_hook(self, module: Any, _: Any, named: dict[str, Any], output: Any) -> Any:
        assert named["hidden_states"].shape[1] > 64, "a longer prompt is wanted"
        return super().forward_hook(module, _, named, output)


class Words:
    """As much of a tokenizer as a short text needs: its prompt has 13 tokens."""

    def get_vocab(self) -> dict[str, int]:
        return {"fox": 0}

    def __len__(self) -> int:
        return 1

    def __call__(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(input_ids=tokens()[:, :13])

    def decode(self, ids: Any) -> str:
        return str(len(ids))


def test_a_press_that_looks_at_a_window_is_verified_on_a_prompt_that_has_one() -> None:
    model = attach_press(model_of("llama"), Pressed(Windowed(0.5), "mine"))
    setattr(model, ATTRIBUTE, Setting)  # as its loader says that it runs with one
    assert generate(model, Words()) == ("12", None)
    with pytest.raises(CallFailure, match="Cannot press a prompt of 128 tokens with mine"):
        failing = attach_press(model_of("llama"), Pressed(Failing(0.5), "mine"))
        setattr(failing, ATTRIBUTE, Setting)
        generate(failing, Words())


def test_tokens_are_found_again_by_keys_and_values() -> None:
    draw = torch.Generator().manual_seed(3)
    states = torch.randn(1, 2, 9, 4, generator=draw)
    seen = Seen(0, 1, states, states, 2 * states, 1.0, torch.zeros(1, 2, 9), 9, {})
    at = torch.tensor([[[8, 0, 3], [1, 2, 7]]])[..., None].expand(1, 2, 3, 4)
    kept = kept_by(seen, states.gather(2, at), (2 * states).gather(2, at))
    assert kept is not None and kept[0].nonzero()[:, 1].tolist() == [0, 3, 8, 1, 2, 7]
    assert kept_by(seen, states.gather(2, at), states.gather(2, at)) is None, "other values"
    twice = at[:, :, [0, 0]]
    assert kept_by(seen, states.gather(2, twice), (2 * states).gather(2, twice)) is None


def test_a_model_without_its_layers_is_refused_and_so_is_another_environment() -> None:
    with pytest.raises(CallFailure, match="kvpress looks for attention layers"):
        attach_press(SimpleNamespace(model=None), Pressed(Shortest(0.5), "shortest"))
    if sys.executable != PYTHON:
        with pytest.raises(CallFailure, match="it runs in the environment kvpress") as failure:
            policy_of(Params(press="TOVAPress"))
        assert failure.value.hint == "Make it: npx -y deno task pare setup kvpress"


def test_a_press_of_others_is_run_where_the_user_names_its_code_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PARE_PRESSES", raising=False)
    own = Params(press="own_press_of_mine:Shortest")
    with pytest.raises(CallFailure, match="PARE_PRESSES does not name own_press_of_mine, it is"):
        policy_of(own)
    monkeypatch.setenv("PARE_PRESSES", "/tmp/other.py, theirs.presses")
    with pytest.raises(CallFailure, match=r"only other, theirs\.presses"):
        policy_of(own)
    assert "own_press_of_mine" not in sys.modules
    assert require_named("theirs.presses:Any") == "theirs.presses"
    assert require_named("other:Any") == "/tmp/other.py"


def test_a_press_that_cannot_be_made_is_told_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PARE_PRESSES", "/tmp/other.py")
    settings = [{"press": "own_press_of_mine:Any", "press_ratio": 0.5, "press_arguments": "{}"}]
    asked = CheckSettingsRequest("kv_cache", "kvpress", None, settings)
    (problem,) = run(asked, silent_report())["problems"]
    assert "PARE_PRESSES does not name own_press_of_mine" in problem["message"]
    assert problem["hint"].startswith("Where you trust its code")
    streaming = CheckSettingsRequest("kv_cache", "streaming", None, [{"sinks": 4, "window": 8}])
    assert run(streaming, silent_report()) == {"problems": [], "files": []}


def test_the_code_of_a_named_package_is_found_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "presses_of_theirs"
    (package / "inner").mkdir(parents=True)
    for name in ("__init__.py", "inner/score.py", "read.me"):
        (package / name).write_text("raise KeyError('run')")
    (tmp_path / "alone_of_theirs.py").write_text("raise KeyError('run')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(
        "PARE_PRESSES", "presses_of_theirs.inner, alone_of_theirs, not_there, /tmp/x.py"
    )
    found = [str(Path(one).relative_to(tmp_path)) for one in installed_files()]
    assert found == [
        "alone_of_theirs.py",
        "presses_of_theirs/__init__.py",
        "presses_of_theirs/inner/score.py",
    ]
    monkeypatch.setenv("PARE_PRESSES", "pytest")
    own = installed_files()
    assert any(one.endswith("/RECORD") for one in own), "its version"
    assert any(one.endswith("pytest/__init__.py") for one in own)


OWN_PRESS = """
from dataclasses import dataclass
from kvpress import KnormPress, ScorerPress

@dataclass
class LongestPress(ScorerPress):
    sign: float = 1.0
    def score(self, module, hidden_states, keys, values, attentions, kwargs):
        return self.sign * keys.norm(dim=-1)

class NoPress:
    pass
"""


def press_of_others() -> None:
    """A class of a user's file is a press as any: by kvpress's own hooks, its arguments checked."""
    from oracles.kept_positions import kept

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "presses_of_mine.py"
        path.write_text(OWN_PRESS)
        (Path(folder) / "broken_press.py").write_text("raise KeyError('no')")
        os.environ["PARE_PRESSES"] = f"{path},{folder}/broken_press.py,relative.py"
        text = tokens()
        for press, arguments in (
            ("presses_of_mine:LongestPress", '{"sign": -1.0}'),
            ("presses_of_mine:LongestPress", "{}"),
            (
                "ChunkPress",
                '{"press": "presses_of_mine:LongestPress", "chunk_length": 40}',
            ),
        ):
            params = Params(press=press, press_ratio=0.5, press_arguments=arguments)
            cache = read_context(attach(model_of("llama"), params), text)
            found = [
                [" ".join(map(str, head)) for head in one.places[0].tolist()]
                for one in cache.layers
            ]
            assert found == kept(model_of("llama"), policy_of(params).press), press
        for name, said in (
            ("presses_of_mine:LongPress", 'Did you mean "LongestPress"?'),
            ("presses_of_mine:NoPress", "Unknown press of"),
            ("broken_press:Any", "raises KeyError: 'no'"),
            ("relative:Any", "its path must be absolute"),
        ):
            with pytest.raises(CallFailure) as failure:
                policy_of(Params(press=name))
            assert said in failure.value.message, failure.value.message


IN_ITS_OWN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from test_kvpress import in_its_own_environment, press_of_others
press_of_others()
in_its_own_environment()
"""


@pytest.mark.skipif(PYTHON is None, reason="the environment kvpress is not made")
def test_every_press_keeps_what_kvpress_keeps_or_is_refused() -> None:
    folder = Path(__file__).parent
    told = subprocess.run(
        [str(PYTHON), "-c", IN_ITS_OWN, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder.parents[1] / "python-backends")},
    )
    assert told.returncode == 0, told.stderr[-2000:]


def in_its_own_environment() -> None:
    """Every press by name, against kvpress's own hooks, and the names that are refused."""
    import kvpress
    from oracles.kept_positions import kept

    text, arguments = tokens(), {"window_size": 16}
    more: dict[str, dict[str, Any]] = {
        "BlockPress": {"press": "KnormPress", "block_size": 32},
        "ChunkPress": {
            "press": {"name": "SnapKVPress", "window_size": 8},
            "chunk_length": 40,
        },
        "ComposedPress": {"presses": ["KnormPress", "KeyDiffPress"]},
        "CriticalKVPress": {"press": "KnormPress"},
        "PerLayerCompressionPress": {
            "press": "KnormPress",
            "compression_ratios": [0.5, 0.2, 0.7],
        },
    }
    pressed = 0
    for name in names("PRESSES"):
        own = getattr(kvpress, name)
        taken = inspect.signature(own).parameters
        given = more.get(name, arguments if "window_size" in taken else {})
        if "press" in taken:
            given = {"press": "KnormPress", **given}
        params = Params(press=name, press_ratio=0.5, press_arguments=json.dumps(given))
        torch.manual_seed(1)
        cache = read_context(attach(model_of("llama"), params), text)
        found = [
            [" ".join(map(str, head)) for head in one.places[0].tolist()] for one in cache.layers
        ]
        reference = model_of("llama")
        reference.set_attn_implementation("eager" if name == "ObservedAttentionPress" else "sdpa")
        torch.manual_seed(1)
        assert found == kept(reference, policy_of(params).press), name
        pressed += 1
    assert pressed == len(names("PRESSES")) > 20
    known = set(kvpress.__all__) - {
        "BasePress",
        "ScorerPress",
        "KVPressTextGenerationPipeline",
    }
    assert known == {*names("PRESSES"), *names("REFUSED")}, "the declaration names every press"
    for wrong, said in (
        (
            Params(press="TovaPress"),
            'Unknown press "TovaPress". Did you mean "TOVAPress"?',
        ),
        (
            Params(press="SnapKVPress", press_arguments='{"windowsize": 4}'),
            'Did you mean "window_size"',
        ),
        (Params(press="KVzipPress"), "it reads the prompt in passes of its own"),
        (Params(press="ThinKPress"), "it takes no compression_ratio"),
        (
            Params(press="ChunkPress", press_arguments='{"press": 3}'),
            "Cannot make a press of 3",
        ),
        (
            Params(press="SnapKVPress", press_arguments="{"),
            "Cannot read the press's arguments",
        ),
    ):
        with pytest.raises(CallFailure) as failure:
            policy_of(wrong)
        assert said in failure.value.message, failure.value.message


def names(of: str) -> list[str]:
    """Presses of a list of plugins/kv_cache/kvpress.ts."""
    text = (Path(__file__).parents[2] / "plugins" / "kv_cache" / "kvpress.ts").read_text("utf-8")
    body = text.split(f"const {of}")[1].split("\n};" if of == "REFUSED" else "] as const")[0]
    return re.findall(r"\b([A-Z]\w+Press)\b", body)
