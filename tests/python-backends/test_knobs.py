from dataclasses import dataclass

import pytest

from pare_backends.failures import CallFailure
from pare_backends.knobs import build_params, choice, describe_params, flag, integer, real


@dataclass(frozen=True)
class Params:
    bits: int = choice(4, choices=(2, 3, 4, 8), unit="bits")
    group_size: int = integer(64, minimum=0, maximum=1024, unit="weights")
    damping: float = real(0.01, minimum=0.0, maximum=1.0, unit="share")
    symmetric: bool = flag(True)


def refused(values: dict[str, object]) -> str:
    with pytest.raises(CallFailure) as caught:
        build_params(Params, values)
    assert caught.value.kind == "bad_input"
    return caught.value.message


def test_build_params_fills_in_defaults() -> None:
    assert build_params(Params, {"bits": 3, "damping": 1}) == Params(bits=3, damping=1)


def test_an_unknown_knob_is_refused_with_the_nearest_name() -> None:
    assert refused({"groupsize": 32}) == (
        'Unknown knob "groupsize". Did you mean "group_size"? '
        "Known: bits, damping, group_size, symmetric"
    )
    assert "Did you mean" not in refused({"xyz": 1})


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
        ({"damping": float("nan")}, "from 0.0 to 1.0"),
        ({"damping": "0.1"}, "a number"),
        ({"symmetric": 1}, "true or false"),
        ({"symmetric": "auto"}, "true or false"),
    ],
)
def test_a_value_outside_its_range_is_refused(values: dict[str, object], words: str) -> None:
    message = refused(values)
    assert words in message
    assert message.startswith(f"Cannot set {next(iter(values))} to ")


def test_the_ends_of_a_range_belong_to_it() -> None:
    params = build_params(Params, {"group_size": 1024, "damping": 0.0})
    assert (params.group_size, params.damping) == (1024, 0.0)


def test_describe_params_gives_the_wire_s_fields() -> None:
    bits, group_size, _, symmetric = describe_params(Params)
    assert bits.choices == [2, 3, 4, 8] and bits.kind == "choice" and bits.minimum is None
    assert (group_size.default, group_size.minimum, group_size.maximum) == (64, 0, 1024)
    assert (symmetric.kind, symmetric.unit, symmetric.default) == ("flag", "on/off", True)


def test_a_field_that_is_no_knob_cannot_be_described() -> None:
    @dataclass(frozen=True)
    class Bare:
        bits: int = 4

    with pytest.raises(TypeError, match="bits"):
        describe_params(Bare)
