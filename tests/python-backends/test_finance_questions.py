# ruff: noqa: RUF001
"""Finance questions: the formulas are QuantLib's, the questions never change, and answers hold."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from evaluation_fixtures import wire_tasks

from pare_backends.evaluation.finance import black_scholes as formulas
from pare_backends.evaluation.finance import options, synthetic
from pare_backends.evaluation.finance.black_scholes import Option
from pare_backends.evaluation.scorers.close_number import read_close
from pare_backends.evaluation.tasks.documents import load_documents

# By QuantLib 1.44 (AnalyticEuropeanEngine; QdFpAmericanEngine of high precision), Actual/360:
# right, spot, strike, years, rate, dividend, volatility; price, delta, gamma, vega, theta, rho and
# the American's price.
QUANTLIB = [
    (
        "call",
        100,
        100,
        1,
        0.05,
        0,
        0.2,
        10.450583572185577,
        0.6368306511756194,
        0.01876201734584688,
        37.52403469169378,
        -6.414027546438199,
        53.23248154537636,
        10.450583572185572,
    ),
    (
        "put",
        100,
        100,
        1,
        0.05,
        0,
        0.2,
        5.573526022256967,
        -0.3631693488243808,
        0.01876201734584688,
        37.52403469169378,
        -1.6578804239346216,
        -41.89046090469503,
        6.090370606535343,
    ),
    (
        "call",
        42,
        40,
        0.5,
        0.1,
        0,
        0.2,
        4.759422392871535,
        0.7791312909426688,
        0.04996267040591186,
        8.81341505960286,
        -4.559092194592631,
        13.982045913360274,
        4.759422392871539,
    ),
    (
        "put",
        42,
        40,
        0.5,
        0.1,
        0,
        0.2,
        0.8085993729000925,
        -0.22086870905733139,
        0.04996267040591186,
        8.81341505960286,
        -0.7541744965897685,
        -5.042542576653999,
        0.9101089609896222,
    ),
    (
        "call",
        100,
        110,
        0.25,
        0.03,
        0.01,
        0.35,
        3.5156936654930253,
        0.33328813335209917,
        0.020744575943202247,
        18.15150395030198,
        -13.267158221950739,
        7.453279917429224,
        3.515693665493018,
    ),
    (
        "put",
        100,
        110,
        0.25,
        0.03,
        0.01,
        0.35,
        12.943467455852252,
        -0.6642149890453607,
        0.020744575943202247,
        18.15150395030198,
        -10.989318763445176,
        -19.841241590097084,
        13.03631799436946,
    ),
    (
        "call",
        50000,
        60000,
        0.25,
        0.02,
        0,
        0.65,
        3246.2988937285713,
        0.3508210340408636,
        2.281319728719104e-05,
        9267.861397921355,
        -12334.114873464056,
        3573.6882020786566,
        3246.298893728572,
    ),
    (
        "put",
        50000,
        60000,
        0.25,
        0.02,
        0,
        0.65,
        12947.047645289515,
        -0.6491789659591363,
        2.281319728719104e-05,
        9267.861397921355,
        -11140.099898432862,
        -11351.49898581158,
        12990.464339732996,
    ),
    (
        "call",
        85,
        97.75,
        0.75,
        0.07,
        0.02,
        0.4,
        8.14533343823348,
        0.4447284111790899,
        0.0132481151789057,
        28.71528965027812,
        -8.977332980242299,
        22.24243613399188,
        8.145334084139126,
    ),
    (
        "put",
        85,
        97.75,
        0.75,
        0.07,
        0.02,
        0.4,
        17.161328455177706,
        -0.5403835284239731,
        0.0132481151789057,
        28.71528965027812,
        -4.159487585743157,
        -47.32044627841156,
        17.958282872376486,
    ),
    (
        "call",
        200,
        210,
        2.0,
        0.07,
        0.03,
        0.6,
        63.879454198692464,
        0.6381555791332735,
        0.0019906676172198215,
        95.55204562655145,
        -14.96648968314043,
        127.50332325592443,
        64.20682550205218,
    ),
    (
        "put",
        200,
        210,
        2.0,
        0.07,
        0.03,
        0.6,
        58.09177691559191,
        -0.3036089544509752,
        0.0019906676172198215,
        95.55204562655145,
        -7.837510824283474,
        -237.62713561157392,
        61.83380168680879,
    ),
]
SHA256 = {
    "options": "e7f9c0b387afe35db4712a692b4bbd7fa43437f08650f0767022bfb6f02ae553",
    "synthetic": "189235c4ce0e79e63c9c59ed9adb9346de1f495cbd4832d0918f67e4b8b02dc1",
}


def of_row(row: tuple) -> Option:
    right, spot, strike, years, rate, dividend, volatility = row[:7]
    return Option(right, spot, strike, years, rate, volatility, dividend)


@pytest.mark.parametrize("row", QUANTLIB)
def test_formulas_are_quantlibs(row: tuple) -> None:
    option, expected = of_row(row), row[7:]
    greeks = (formulas.delta, formulas.gamma, formulas.vega, formulas.theta, formulas.rho)
    found = [formulas.price(option), *(greek(option) for greek in greeks)]
    assert found == pytest.approx(expected[:-1], rel=1e-8, abs=1e-8)
    # QuantLib's own tree of that name has another chance to rise, so the limit is compared.
    tree = formulas.tree_price(option, 400, american=True)
    assert tree == pytest.approx(expected[-1], rel=2e-3)


def test_a_tree_of_two_steps_is_the_textbooks() -> None:
    """Every node by hand: up 1.2214, down 0.8187, chance to rise 0.5770 at 5 % a year."""
    option = Option("put", 50, 52, 2.0, 0.05, 0.2)
    up, down = math.exp(0.2), math.exp(-0.2)
    chance, once = (math.exp(0.05) - down) / (up - down), math.exp(-0.05)
    high = once * (1 - chance) * (52 - 50)
    low = max(once * (chance * (52 - 50) + (1 - chance) * (52 - 50 * down**2)), 52 - 50 * down)
    assert low == pytest.approx(52 - 50 * down), "exercised early"
    expected = once * (chance * high + (1 - chance) * low)
    assert formulas.tree_price(option, 2, american=True) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("row", QUANTLIB)
def test_a_price_gives_its_volatility_back_and_keeps_parity_and_bounds(row: tuple) -> None:
    option = of_row(row)
    paid = formulas.price(option)
    assert formulas.implied_volatility(option, paid) == pytest.approx(option.volatility, abs=1e-8)
    low, high = formulas.bounds(option)
    assert low < paid < high
    for outside in (low - 1e-6, high + 1e-6):
        with pytest.raises(ValueError, match="no volatility gives"):
            formulas.implied_volatility(option, outside)
    call, put = (formulas.price(replace(option, right=right)) for right in options.RIGHTS)
    spot, strike = formulas.discounted(option)
    assert call - put == pytest.approx(spot - strike, rel=1e-10)


def test_a_tree_of_many_steps_tends_to_the_formula() -> None:
    option = of_row(QUANTLIB[0])
    errors = [
        abs(formulas.tree_price(option, n, american=False) - formulas.price(option))
        for n in (50, 400)
    ]
    assert errors[1] < errors[0] / 4 < 0.02


@pytest.mark.parametrize("name", ["options", "synthetic"])
def test_the_questions_are_the_same_for_ever_and_of_every_kind(name: str) -> None:
    documents = load_documents(wire_tasks()[name])
    assert documents.sha256 == SHA256[name]
    rows = documents.rows
    made = options if name == "options" else synthetic
    assert rows == made.items(600, 42)
    assert made.items(12, 42) == rows[:12] != made.items(12, 43)
    kinds = {row["kind"] for row in rows}
    assert len(kinds) == len(made.KINDS)
    assert {row["kind"] for row in rows[: len(kinds)]} == kinds, "a few are of every kind"


def test_every_answer_is_right_by_its_own_scorer_and_by_none_beside_it() -> None:
    for row in [*options.items(600, 42), *synthetic.items(600, 42)]:
        assert read_close(
            f"From 17 follows:\nAnswer: {row['answer']}.", row["answer"], 0.005
        ).right, row
        number, *unit = row["answer"].split(" ")
        if float(number) != 0:
            other = " ".join([f"{float(number) * 1.02:.10g}", *unit])
            assert not read_close(f"Answer: {other}", row["answer"], 0.005).right, row


def test_a_statements_sums_hold() -> None:
    for row in synthetic.items(60, 7):
        table = [
            line.strip("| ").split(" | ")
            for line in row["question"].splitlines()
            if line.startswith("| ")
        ]
        lines = {name: [int(figure) for figure in figures] for name, *figures in table[1:]}
        by = dict(zip(synthetic.LINES, lines.values(), strict=True))
        for year in range(3):
            spent = sum(by[line][year] for line in ("cost", "expenses", "interest", "tax"))
            assert by["revenue"][year] - spent == by["income"][year]
            assert by["assets"][year] == by["liabilities"][year] + by["equity"][year]
            assert by["equity"][year] > 0


@pytest.mark.parametrize(
    ("text", "gold", "right"),
    [
        ("Answer: $10.45", "10.45058 USD", True),
        ("The answer is 4.76.", "4.759 USD", True),
        ("To answer, take 9.\nAnswer: 2.5", "2.5", True),
        ("Answer: 100 × 0.0525 = 5.25 %", "5.25 %", True),
        ("Answer: 5.25", "5.25 %", True),
        ("Answer: 0.0525", "5.25 %", False),
        ("Answer: 0.0525 (5.25%)", "5.25 %", True),
        ("Answer: 0.0525 or 5.5 %", "5.25 %", False),
        ("Answer: 5.25 %\nThat is 3 % more.", "5.25 %", True),
        ("Answer: 525 bps", "5.25 %", True),
        ("Answer: 5.25%", "0.0525", True),
        ("**Answer:** \\boxed{0.0525}", "0.0525", True),
        ("Answer: $1.2 \\times 10^{-2}$", "0.012", True),
        ("Answer: 1.2e-2", "0.012", True),
        ("Answer: 1,234.5 million USD", "1234.5 million", True),
        ("Answer: 1.2345 billion", "1234.5 million", True),
        ("Answer: 1,234,500,000", "1234.5 million", False),
        ("答案：12亿元", "1200 百万", True),
        ("答案是 −3.5", "-3.5", True),
        ("Answer: €10.45", "10.45 USD", False),
        ("Answer: 3.5 USD", "-3.5 USD", False),
        ("5 - 3", "3", True),
        ("Answer: 0", "0 USD", True),
        ("Answer: 1e999", "3", False),
        ("I cannot tell.", "3", False),
        ("", "3", False),
    ],
)
def test_a_number_is_read_with_its_unit(text: str, gold: str, right: bool) -> None:
    assert read_close(text, gold, 0.005).right is right


def test_a_long_answer_of_digits_is_read_in_no_time() -> None:
    for part in ("1,", "9" * 7, "Answer: ", "1 x 10^", "- "):
        read_close(part * 100_000, "3", 0.005)
