"""`mixed`: the best mix under a budget, written as it was chosen."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from test_gptq import divergence
from tiny_model import act

from pare_backends.checkpoint import read
from pare_backends.failures import CallFailure
from pare_backends.quantization.mixing.bounds import choices_of, worth_trying
from pare_backends.quantization.mixing.solve import (
    Decision,
    Option,
    best_mix,
    by_programme,
    extra_bytes,
)


def decisions(seed: int, count: int, divisor: int) -> list[Decision]:
    draw = np.random.default_rng(seed)
    return [
        Decision(
            (f"layer{number}",),
            tuple(
                Option(f"{width}-bit", int(draw.integers(1, 40)) * divisor, float(draw.random()))
                for width in (2, 3, 4, 8)
            ),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("divisor", [1, 384])
def test_no_other_mix_within_the_budget_is_better(seed: int, divisor: int) -> None:
    asked = decisions(seed, 5, divisor)
    mixes = list(itertools.product(*(decision.options for decision in asked)))
    sizes = sorted(sum(option.size_bytes for option in mix) for mix in mixes)
    for budget in (sizes[0], sizes[len(sizes) // 3], sizes[len(sizes) // 2] + 1, 2 * sizes[-1]):
        best = min(
            sum(option.score for option in mix)
            for mix in mixes
            if sum(option.size_bytes for option in mix) <= budget
        )
        found = best_mix(asked, budget)
        assert sum(option.score for option in found) == pytest.approx(best, abs=1e-12)
        assert sum(option.size_bytes for option in found) <= budget
        assert all(one in decision.options for one, decision in zip(found, asked, strict=True))


def falling(seed: int, count: int) -> list[Decision]:
    """Decisions of twelve options, whose scores fall with their bytes, mostly."""
    draw = np.random.default_rng(seed)
    made = []
    for number in range(count):
        weights, scale = int(draw.integers(1, 40)) * 384, draw.lognormal(sigma=1.5)
        bits = [2.0, 2.25, 2.5, 3.0, 3.25, 3.5, 4.0, 4.25, 4.5, 8.0, 8.25, 8.5]
        options = tuple(
            Option(str(n), int(weights * n), float(scale * 4.0**-n * draw.lognormal(sigma=0.3)))
            for n in bits
        )
        made.append(Decision((f"layer{number}",), options))
    return made


@pytest.mark.parametrize("bits", [2.1, 3.25, 4.25, 7.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_many_layers_is_that_of_an_integer_programme(seed: int, bits: float) -> None:
    from scipy.optimize import Bounds, LinearConstraint, milp

    asked = falling(seed, 40)
    budget = int(sum(each.options[0].size_bytes for each in asked) * bits / 2)
    options = [(n, one) for n, each in enumerate(asked) for one in each.options]
    sizes = np.array([[one.size_bytes for _, one in options]])
    once = np.array([[float(n == number) for n, _ in options] for number in range(len(asked))])
    exact = milp(
        [one.score for _, one in options],
        constraints=[LinearConstraint(sizes, -np.inf, budget), LinearConstraint(once, 1, 1)],
        integrality=np.ones(len(options)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0},
    )
    found = best_mix(asked, budget)
    assert sum(one.size_bytes for one in found) <= budget
    # The programme stops within an absolute gap of a millionth: ours may be better by that.
    score = sum(one.score for one in found)
    assert exact.fun - 2e-6 < score <= exact.fun * (1 + 1e-9)


def test_a_bound_leaves_few_options_and_all_of_the_best_mix() -> None:
    asked = falling(5, 80)
    extras = [extra_bytes(each) for each in asked]
    choices = choices_of(extras, [[one.score for one in each.options] for each in asked])
    slack = sum(sum(extra) // len(extra) for extra in extras)
    kept, known = worth_trying(choices, slack)
    assert kept.sum() < 2 * len(asked)
    whole = by_programme(extras, list(choices.scores), slack)
    assert whole is not None
    assert all(kept[number, choice] for number, choice in enumerate(whole))
    size, score = choices.picked(known)
    assert size <= slack
    assert choices.picked(np.array(whole))[1] <= score <= 1.05 * choices.picked(np.array(whole))[1]


def test_a_budget_that_no_step_divides_is_kept() -> None:
    """Bytes without a common divisor, in more steps than there are: rounded up, never down."""
    draw = np.random.default_rng(3)
    asked = [
        Decision(
            (f"layer{number}",),
            tuple(Option(str(n), int(draw.integers(1, 10**7)) * 2 + 1, -n) for n in range(3)),
        )
        for number in range(40)
    ]
    least = sum(min(option.size_bytes for option in one.options) for one in asked)
    budget = least + 50_000_000
    found = best_mix(asked, budget)
    assert 0.95 * budget < sum(option.size_bytes for option in found) <= budget


def test_a_budget_below_the_smallest_formats_is_refused() -> None:
    with pytest.raises(CallFailure, match="the smallest ones take"):
        best_mix(decisions(1, 3, 1), 2)


PARAMS = {"average_bits": 3.75, "layer_bits": "2-3-4-8", "group_size": 32, "seqlen": 64}


def test_a_mix_has_the_bytes_that_were_asked_and_loses_less_than_three_bits(tmp_path: Path) -> None:
    result = act(tmp_path / "mix", "mixed", {**PARAMS, "scored_by": "kl", "fused_alike": False})
    child = read(tmp_path / "mix")
    assert 3.70 < result["weight_bits"] <= 3.75
    assert len({tensor.bits for tensor in child.stored.values()}) > 1
    act(tmp_path / "three", "rtn", {"bits": 3, "group_size": 32, "clip": True})
    assert divergence(tmp_path / "mix") < divergence(tmp_path / "three")
    told = {(row["layer"], row["metric"]): row["value"] for row in result["figures"]}
    for layer, tensor in child.stored.items():
        assert told[layer, "stored_bits"] == tensor.bits
        assert told[layer, "weight_bits"] == pytest.approx(8 * tensor.formula_bytes() / tensor.size)
    assert any("mixed by kl" in note for note in result["notes"])


def test_gptq_rounds_each_layer_to_its_own_format_and_fused_layers_alike(tmp_path: Path) -> None:
    fused = {**PARAMS, "fused_alike": True}
    act(tmp_path / "rounded", "mixed", fused)
    act(tmp_path / "gptq", "mixed", {**fused, "rounded_by": "gptq"})
    rounded, gptq = read(tmp_path / "rounded").stored, read(tmp_path / "gptq").stored
    assert {n: t.scheme for n, t in rounded.items()} == {n: t.scheme for n, t in gptq.items()}
    assert len({tensor.bits for tensor in gptq.values()}) > 1
    assert divergence(tmp_path / "gptq") < divergence(tmp_path / "rounded")
    for block in range(2):
        own = f"model.layers.{block}"
        for names in (
            ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
            ("mlp.gate_proj", "mlp.up_proj"),
        ):
            assert len({gptq[f"{own}.{name}"].scheme for name in names}) == 1
