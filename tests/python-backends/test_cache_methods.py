"""What every method of the cache must keep, found by its files alone: nothing here names one."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from cache_examples import LastRow
from oracles.kept_positions import model_of, tokens

from pare_backends.cache.kept import kept_bytes, kept_tokens
from pare_backends.cache.policy import chooses_by_content, policy_of, shares_prompts
from pare_backends.cache.reading import follow, read_context, read_contexts
from pare_backends.checkpoint.setting import PACKAGE, Setting, attach
from pare_backends.method_file import methods_in

HERE = Path(__file__).parent
CONTEXT = 100


@functools.cache
def proposals() -> tuple[dict[str, Any], ...]:
    """Method, params, what they say they keep; from the TypeScript files."""
    deno = [shutil.which("deno")] if shutil.which("deno") else ["npx", "-y", "deno"]
    command = [*deno, "run", "--quiet", "--allow-all", str(HERE / "print_cache_methods.ts")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE)
    return tuple(json.loads(done.stdout))


def run_here() -> list[dict[str, Any]]:
    """Of methods that need no library beside torch: others have tests of their own."""
    return [one for one in proposals() if one["environment"] == "default"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "proposed" in metafunc.fixturenames:
        names = [f"{one['method']} {one['kept_tokens']['most']}" for one in run_here()]
        metafunc.parametrize("proposed", run_here(), ids=names)


def model(proposed: dict[str, Any]) -> Any:
    setting = Setting("kv_cache", proposed["method"], proposed["params"], "0" * 16)
    return attach(model_of("llama"), setting)


def coded(proposed: dict[str, Any]) -> bool:
    """Whether it stores tokens as codes, which come back nearly."""
    return bool(proposed["params"].get("codes", "none") != "none")


def rows(count: int = 3) -> torch.Tensor:
    """Texts of equal length. returns: (count, 120) int64"""
    return torch.cat([tokens().roll(7 * number, dims=1) for number in range(count)])


def test_every_file_proposes_something() -> None:
    found = {one["method"] for one in proposals()}
    assert found == set(methods_in(PACKAGE / "kv_cache"))
    for one in run_here():
        assert one["kept_tokens"]["mean"] < CONTEXT or coded(one), "something is spared"


def test_it_keeps_no_more_than_it_says(proposed: dict[str, Any]) -> None:
    own = model(proposed)
    cache = read_context(own, rows())
    kept, said = kept_tokens(cache), proposed["kept_tokens"]
    assert 0 < kept.mean <= said["mean"] and kept.most <= said["most"]
    # Counted from the tensors: two of them, rows, heads, features, bytes of a float64.
    floats = 2 * 3 * 2 * 8 * 8 * sum(kept.by_layer)
    assert kept_bytes(cache) < floats if coded(proposed) else kept_bytes(cache) >= floats
    for layer in cache.layers:
        assert layer.keys.untyped_storage().nbytes() == layer.keys.numel() * 8, "a view"
        assert layer.values.untyped_storage().nbytes() == layer.values.numel() * 8, "a view"
    policy = policy_of(own)
    assert policy is not None and policy.words()


@torch.no_grad()
def test_a_text_that_it_keeps_whole_has_the_models_own_logits(proposed: dict[str, Any]) -> None:
    own = model(proposed)
    least = min(kept_tokens(read_context(own, rows())).by_layer)
    text = rows()[:, :least]
    cache = read_context(own, text[:, : least // 2])
    wanted = model_of("llama")(text).logits[:, least // 2 :]
    said = follow(own, cache, text[:, least // 2 :])
    assert torch.allclose(said, wanted, atol=1e-9) != coded(proposed)


def test_what_it_keeps_is_a_function_of_context_and_knobs(proposed: dict[str, Any]) -> None:
    one, other = model(proposed), model(proposed)
    text = rows()
    first = read_context(one, text[:, :CONTEXT])
    follow(one, first, text[:, CONTEXT:])
    read_context(one, text.flip(1))
    for again in (read_context(one, text[:, :CONTEXT]), read_context(other, text[:, :CONTEXT])):
        for before, after in zip(first.layers, again.layers, strict=True):
            assert torch.equal(before.places, after.places)
            assert torch.equal(before.keys, after.keys)


def test_no_row_of_a_batch_says_what_is_kept_of_another(proposed: dict[str, Any]) -> None:
    own, text = model(proposed), rows()
    together = read_context(own, text)
    order = torch.tensor([2, 0, 1])
    turned = read_context(own, text[order])
    for number in range(len(text)):
        alone = read_context(own, text[number : number + 1])
        for layers in zip(together.layers, turned.layers, alone.layers, strict=True):
            places = [layer.places for layer in layers]
            assert torch.equal(places[0][number], places[2][0])
            assert torch.equal(places[0][order], places[1])


def test_sinks_and_window_are_always_kept(proposed: dict[str, Any]) -> None:
    cache = read_context(model(proposed), rows())
    count = rows().shape[1]
    sinks, window = (proposed["params"].get(name, 0) for name in ("sinks", "window"))
    always = {*range(sinks), *range(count - window, count)}
    for layer in cache.layers:
        assert layer.places.shape[:2] == (3, 2)
        for head in layer.places.flatten(0, 1).tolist():
            assert always <= set(head)
            assert head == sorted(set(head))


def test_what_follows_may_be_read_at_once_or_token_by_token(proposed: dict[str, Any]) -> None:
    own, text = model(proposed), rows()
    cache = read_context(own, text[:, :CONTEXT])
    at_once = follow(own, cache, text[:, CONTEXT:])
    held, parts = cache, []
    for place in range(CONTEXT, text.shape[1]):
        parts.append(follow(own, held, text[:, place : place + 1]))
        held = follow_into(own, held, text[:, place : place + 1])
    assert torch.allclose(torch.cat(parts, dim=1), at_once, atol=1e-9)


@torch.no_grad()
def follow_into(own: Any, cache: Any, part: torch.Tensor) -> Any:
    """The cache with one more token read into it."""
    return own(part, past_key_values=cache, use_cache=True).past_key_values


def test_beside_others_it_keeps_of_a_prompt_what_it_keeps_alone(proposed: dict[str, Any]) -> None:
    own = model(proposed)
    policy = policy_of(own)
    if not shares_prompts(policy):
        with pytest.raises(TypeError, match="both decide after the prompt"):
            read_contexts(own, [LastRow(30)], rows())
        return
    assert policy is not None
    other = LastRow(30)
    shared = read_contexts(own, [other, policy, other], rows()[:, :CONTEXT])[1].cache
    alone = read_context(own, rows()[:, :CONTEXT])
    for one, wanted in zip(shared.layers, alone.layers, strict=True):
        assert torch.equal(one.places, wanted.places)
    assert kept_bytes(shared) == kept_bytes(alone)
    after = rows()[:, CONTEXT : CONTEXT + 5]
    assert torch.allclose(follow(own, shared, after), follow(own, alone, after), atol=1e-9)


def test_it_says_whether_one_pass_over_a_text_shows_it(proposed: dict[str, Any]) -> None:
    own = model(proposed)
    by_content = proposed.get("evict_after") == "context"
    assert chooses_by_content(own) == by_content
    if by_content:
        with pytest.raises(TypeError, match="last token alone"):
            own(rows())
    else:
        assert own(rows()).logits.shape[1] == rows().shape[1]
