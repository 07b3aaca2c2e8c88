from dataclasses import dataclass
from typing import Any

import pytest

from pare_backends.calls.describe import method_files, method_params
from pare_backends.failures import CallFailure
from pare_backends.knobs import (
    KnobDescription,
    build_params,
    choice,
    declared_knobs,
    flag,
    integer,
    knob_types,
    real,
)
from pare_backends.quantization import gptq


@dataclass(frozen=True)
class Plain:
    """A third party's of today."""

    bits: int = 4
    damping: float = 0.01
    symmetric: bool = True
    name: str = "a"


@dataclass(frozen=True)
class OfBefore:
    """A third party's that says its ranges here too."""

    bits: int = choice(4, choices=(2, 3, 4, 8), unit="bits")
    group_size: int = integer(64, minimum=0, maximum=1024, unit="weights")
    damping: float = real(0.01, minimum=0.0, maximum=1.0, unit="share")
    symmetric: bool = flag(True)


DECLARED = [
    KnobDescription("bits", "choice", 4, "bits", choices=[2, 3, 4, 8]),
    KnobDescription("group_size", "integer", 64, "weights", minimum=0, maximum=1024),
    KnobDescription("damping", "real", 0.01, "share", minimum=0, maximum=1),
    KnobDescription("symmetric", "flag", True, "on/off"),
]


def refused(cls: type, values: dict[str, Any], declared: Any = None) -> str:
    with pytest.raises(CallFailure) as caught:
        build_params(cls, values, declared)
    assert caught.value.kind == "bad_input"
    return caught.value.message


@pytest.mark.parametrize(("agent", "method"), method_files())
def test_every_method_has_the_knobs_of_its_declaration(agent: str, method: str) -> None:
    made = build_params(method_params(agent, method), {})
    kinds = knob_types(type(made))
    assert {name: type(value).__name__ for name, value in vars(made).items()} == kinds


def test_a_method_of_pare_is_refused_what_its_declaration_forbids() -> None:
    assert build_params(gptq.Params, {"bits": 3}) == gptq.Params(bits=3)
    assert refused(gptq.Params, {"bits": 5}) == (
        "Cannot set bits to 5: it must be one of 2, 3, 4, 8 (bits per weight)"
    )
    assert refused(gptq.Params, {"bitz": 4}).startswith('Unknown knob "bitz". Did you mean "bits"?')


def test_a_params_that_is_not_the_declared_one_is_no_method() -> None:
    class Params:
        bits: int

    Params.__module__ = gptq.__name__
    with pytest.raises(TypeError, match=r"quantization/gptq in knobs\.json.*group_size"):
        declared_knobs(Params)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"bits": 5}, "one of 2, 3, 4, 8 (bits)"),
        ({"bits": True}, "one of 2, 3, 4, 8"),
        ({"bits": "4"}, "one of 2, 3, 4, 8"),
        ({"group_size": -1}, "from 0 to 1024 (weights)"),
        ({"group_size": 1025}, "from 0 to 1024"),
        ({"group_size": 3.5}, "a whole number"),
        ({"group_size": True}, "a number"),
        ({"damping": float("nan")}, "from 0 to 1"),
        ({"damping": "0.1"}, "a number"),
        ({"symmetric": 1}, "true or false"),
        ({"symmetric": "auto"}, "true or false"),
        ({"xyz": 1}, "Known: bits, damping, group_size, symmetric"),
    ],
)
def test_a_third_party_s_values_are_held_to_what_its_request_declares(
    values: dict[str, Any], words: str
) -> None:
    message = refused(OfBefore, values, DECLARED)
    assert words in message
    assert message.startswith((f"Cannot set {next(iter(values))} to ", "Unknown knob"))


def test_the_ends_of_a_range_belong_to_it_and_defaults_fill_in() -> None:
    params = build_params(OfBefore, {"group_size": 1024, "damping": 0.0}, DECLARED)
    assert vars(params) == {"bits": 4, "group_size": 1024, "damping": 0.0, "symmetric": True}


def test_without_a_declaration_types_are_held() -> None:
    assert build_params(Plain, {"bits": 99, "name": "b"}) == Plain(bits=99, name="b")
    assert "a whole number" in refused(Plain, {"bits": 3.5})
    assert "a text" in refused(Plain, {"name": 3})
    assert "true or false" in refused(Plain, {"symmetric": 1})
    assert 'Did you mean "damping"' in refused(Plain, {"dampin": 1})
