# ruff: noqa: RUF001
"""Questions about options, made here: prices, Greeks, implied volatility, parity, spreads, bounds,
and American options by a tree.

Parameters are drawn round, answers are computed by `black_scholes.py`. The same version, seed and
count give the same questions for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pare_backends.evaluation.finance import black_scholes as formulas
from pare_backends.evaluation.finance.black_scholes import Option, Right
from pare_backends.evaluation.finance.question import Drawn, Make, questions, row

VERSION = 1
TREE_STEPS = 3
RIGHTS: tuple[Right, ...] = ("call", "put")


def items(count: int, seed: int) -> list[dict[str, Any]]:
    """The first `count` questions of a seed: `question`, `answer` and `kind`."""
    return questions(f"options {VERSION}", KINDS, count, seed)


def drawn_option(drawn: Drawn, right: Right | None = None) -> Option:
    """An option within a fifth of the money: its price is no rounding error."""
    spot = drawn.step(40, 240, 5)
    return Option(
        right=drawn.one(RIGHTS) if right is None else right,
        spot=spot,
        strike=round(spot * drawn.step(0.85, 1.15, 0.05), 2),
        years=drawn.step(0.25, 2, 0.25),
        rate=drawn.step(0.01, 0.08, 0.005),
        volatility=drawn.step(0.15, 0.6, 0.05),
        dividend=drawn.one((0.0, 0.0, 0.01, 0.02, 0.03)),
    )


def market(option: Option, *, volatility: bool = True) -> str:
    """All that a formula needs, in words."""
    rate = option.dividend
    yields = "no dividends" if rate == 0 else f"a dividend yield of {rate:.1%}"
    moves = f", a volatility of {option.volatility:.0%} a year" if volatility else ""
    return (
        f"spot {option.spot:g} USD, strike {option.strike:g} USD, {option.years:g} years to "
        f"expiry, a rate of {option.rate:.1%} a year{moves}, {yields} (all continuously compounded)"
    )


def by_formula(
    kind: str,
    asked: str,
    formula: Callable[[Option], float],
    unit: str = "",
    right: Right | None = None,
) -> Make:
    """Questions that one formula of Black and Scholes answers."""

    def make(drawn: Drawn) -> dict[str, Any]:
        option = drawn_option(drawn, right)
        text = (
            f"By Black–Scholes–Merton, what is {asked} of a European {option.right}: "
            f"{market(option)}?"
        )
        return row(kind, text, formula(option), unit)

    return make


def implied(drawn: Drawn) -> dict[str, Any]:
    """The volatility of a price that was rounded to cents, as it is quoted."""
    option = drawn_option(drawn)
    # Near the money: far from it a cent moves the volatility by points.
    option = replace(option, strike=round(option.spot * drawn.step(0.95, 1.05, 0.05), 2))
    paid = round(formulas.price(option), 2)
    text = (
        f"A European {option.right} is quoted at {paid:.2f} USD: "
        f"{market(option, volatility=False)}. What is its implied "
        "volatility by Black–Scholes–Merton, in percent a year?"
    )
    return row("implied_volatility", text, 100 * formulas.implied_volatility(option, paid), "%")


def parity(drawn: Drawn) -> dict[str, Any]:
    """A put from the quoted call: nothing of the volatility is asked."""
    option = drawn_option(drawn, "call")
    call = round(formulas.price(option), 2)
    spot, strike = formulas.discounted(option)
    text = (
        f"A European call is quoted at {call:.2f} USD: {market(option, volatility=False)}. "
        "By put–call parity, what is the European put of the same strike and expiry worth, in USD?"
    )
    return row("parity", text, call - spot + strike, "USD")


def spread(drawn: Drawn) -> dict[str, Any]:
    """A bull spread of calls at quoted prices: its break-even, most profit or most loss."""
    low = drawn.step(50, 200, 5)
    high = low + drawn.step(5, 25, 5)
    paid = drawn.step(4, 12, 0.25)
    got = round(paid - drawn.step(1, 3.5, 0.25), 2)
    net = paid - got
    asked, value = drawn.one(
        (
            ("the spot at expiry at which it breaks even", low + net),
            ("its most profit at expiry for one share", high - low - net),
            ("its most loss at expiry for one share, as a positive number", net),
        )
    )
    text = (
        f"A bull spread buys a call of strike {low:g} USD at {paid:.2f} USD and sells a call of "
        f"strike {high:g} USD at {got:.2f} USD, same expiry. Without interest, what "
        f"is {asked}, in USD?"
    )
    return row("spread", text, value, "USD")


def straddle(drawn: Drawn) -> dict[str, Any]:
    """What a straddle of quoted prices earns at a spot."""
    strike, call, put = drawn.step(50, 200, 5), drawn.step(3, 9, 0.5), drawn.step(2, 8, 0.5)
    spot = strike + drawn.one((-1, 1)) * drawn.step(5, 40, 5)
    text = (
        f"A straddle buys a call at {call:.2f} USD and a put at {put:.2f} USD, both of strike "
        f"{strike:g} USD. Without interest, what does it earn for one share if the spot at expiry "
        f"is {spot:g} USD, in USD (a loss is negative)?"
    )
    return row("straddle", text, abs(spot - strike) - call - put, "USD")


def bound(drawn: Drawn) -> dict[str, Any]:
    """The least price without arbitrage, where it is above 0."""
    option = drawn_option(drawn)
    # Deep in the money: elsewhere every bound is 0.
    share = drawn.step(0.6, 0.8, 0.05)
    strike = round(option.spot * (share if option.right == "call" else 2 - share), 2)
    option = replace(option, strike=strike)
    text = (
        f"Whatever the volatility, below which price is a European {option.right} an arbitrage: "
        f"{market(option, volatility=False)}? In USD."
    )
    return row("bound", text, formulas.bounds(option)[0], "USD")


def american(drawn: Drawn) -> dict[str, Any]:
    """An American put by a tree that a person can draw."""
    option = drawn_option(drawn, "put")
    text = (
        f"By a Cox–Ross–Rubinstein tree of {TREE_STEPS} equal steps, what is an American put "
        f"worth, in USD: {market(option)}?"
    )
    return row("american", text, formulas.tree_price(option, TREE_STEPS, american=True), "USD")


KINDS: tuple[Make, ...] = (
    by_formula("price", "the price in USD", formulas.price, "USD"),
    by_formula("delta", "the delta", formulas.delta),
    implied,
    by_formula("gamma", "the gamma (by 1 USD of the spot)", formulas.gamma),
    parity,
    by_formula(
        "vega", "the vega by one point (0.01) of volatility", lambda o: formulas.vega(o) / 100
    ),
    spread,
    by_formula("theta", "the theta by one day (of 365)", lambda o: formulas.theta(o) / 365),
    bound,
    by_formula("rho", "the rho by one point (0.01) of the rate", lambda o: formulas.rho(o) / 100),
    american,
    straddle,
)
"""In turn: a few questions are of many kinds."""
