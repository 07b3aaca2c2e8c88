"""European options by Black, Scholes and Merton, American ones by Cox, Ross and Rubinstein's tree.

Sources: Black and Scholes 1973, Merton 1973 (dividend yield), Cox, Ross and Rubinstein 1979. Rates,
yields and volatilities are shares a year, compounded continuously; times are years.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

Right = Literal["call", "put"]
LARGEST_VOLATILITY = 10.0


@dataclass(frozen=True)
class Option:
    """A European option, and the market that it is priced in."""

    right: Right
    spot: float
    strike: float
    years: float
    rate: float
    volatility: float
    dividend: float = 0.0

    @property
    def sign(self) -> int:
        """1 of a call, -1 of a put."""
        return 1 if self.right == "call" else -1


def normal(x: float) -> float:
    """The chance that a standard normal number is below x."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def density(x: float) -> float:
    """The density of the standard normal distribution."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def d1_d2(option: Option) -> tuple[float, float]:
    """The two quantities of the formula that carry these names."""
    spread = option.volatility * math.sqrt(option.years)
    drift = option.rate - option.dividend + option.volatility**2 / 2
    d1 = (math.log(option.spot / option.strike) + drift * option.years) / spread
    return d1, d1 - spread


def discounted(option: Option) -> tuple[float, float]:
    """Spot less dividends, and strike, as they are worth today."""
    return (
        option.spot * math.exp(-option.dividend * option.years),
        option.strike * math.exp(-option.rate * option.years),
    )


def price(option: Option) -> float:
    """What it is worth today, in the spot's currency."""
    (d1, d2), (spot, strike), sign = d1_d2(option), discounted(option), option.sign
    return sign * (spot * normal(sign * d1) - strike * normal(sign * d2))


def delta(option: Option) -> float:
    """Change of the price by 1 of the spot."""
    d1, _ = d1_d2(option)
    return option.sign * math.exp(-option.dividend * option.years) * normal(option.sign * d1)


def gamma(option: Option) -> float:
    """Change of delta by 1 of the spot."""
    d1, _ = d1_d2(option)
    spread = option.volatility * math.sqrt(option.years)
    return math.exp(-option.dividend * option.years) * density(d1) / (option.spot * spread)


def vega(option: Option) -> float:
    """Change of the price by 1.00 of volatility: a hundredth of it is a point's."""
    d1, _ = d1_d2(option)
    return discounted(option)[0] * density(d1) * math.sqrt(option.years)


def theta(option: Option) -> float:
    """Change of the price as a year goes by: a 365th of it is a day's."""
    (d1, d2), (spot, strike), sign = d1_d2(option), discounted(option), option.sign
    decay = -spot * density(d1) * option.volatility / (2 * math.sqrt(option.years))
    carry = option.dividend * spot * normal(sign * d1) - option.rate * strike * normal(sign * d2)
    return decay + sign * carry


def rho(option: Option) -> float:
    """Change of the price by 1.00 of the rate: a hundredth of it is a point's."""
    _, d2 = d1_d2(option)
    _, strike = discounted(option)
    return option.sign * strike * option.years * normal(option.sign * d2)


def bounds(option: Option) -> tuple[float, float]:
    """Between which every price without arbitrage lies, whatever the volatility."""
    spot, strike = discounted(option)
    low = max(option.sign * (spot - strike), 0.0)
    return low, spot if option.right == "call" else strike


def implied_volatility(option: Option, paid: float) -> float:
    """The volatility at which the formula gives a price, by bisection to 1e-12.

    Raises `ValueError` where no volatility up to 10 gives it.
    """
    low, high = 1e-6, LARGEST_VOLATILITY
    if not price(replace(option, volatility=low)) < paid < price(replace(option, volatility=high)):
        least, most = bounds(option)
        raise ValueError(f"no volatility gives {paid}: prices lie between {least} and {most}")
    while high - low > 1e-12:
        middle = (low + high) / 2
        if price(replace(option, volatility=middle)) < paid:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def tree_price(option: Option, steps: int, *, american: bool) -> float:
    """The price by a Cox-Ross-Rubinstein tree: up by exp(volatility √step), down by its inverse."""
    step = option.years / steps
    up = math.exp(option.volatility * math.sqrt(step))
    chance = (math.exp((option.rate - option.dividend) * step) - 1 / up) / (up - 1 / up)
    discount = math.exp(-option.rate * step)

    def exercised(at: int, ups: int) -> float:
        return max(option.sign * (option.spot * up ** (2 * ups - at) - option.strike), 0.0)

    values = [exercised(steps, ups) for ups in range(steps + 1)]
    for at in range(steps - 1, -1, -1):
        held = [
            discount * (chance * values[ups + 1] + (1 - chance) * values[ups])
            for ups in range(at + 1)
        ]
        values = [max(v, exercised(at, n)) for n, v in enumerate(held)] if american else held
    return values[0]
