# ruff: noqa: RUF001
"""Questions about the statements of companies that do not exist, in English and Chinese.

A table of three years is drawn, its sums hold, and the answer is computed from the very figures
that the table shows. The same version, seed and count give the same questions for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pare_backends.evaluation.finance.question import Drawn, Make, questions, row

VERSION = 1
YEARS = (2021, 2022, 2023)
NAMES = {
    "en": (
        "Alder Tools",
        "Brook Foods",
        "Cedar Energy",
        "Dale Shipping",
        "Elm Textiles",
        "Fjord Glass",
    ),
    "zh": ("青木工具", "溪流食品", "雪松能源", "谷地航运", "榆树纺织", "峡湾玻璃"),
}
LINES = {
    "revenue": {"en": "Revenue", "zh": "营业收入"},
    "cost": {"en": "Cost of sales", "zh": "营业成本"},
    "expenses": {"en": "Operating expenses", "zh": "营业费用"},
    "interest": {"en": "Interest", "zh": "利息费用"},
    "tax": {"en": "Tax", "zh": "所得税"},
    "income": {"en": "Net income", "zh": "净利润"},
    "current_assets": {"en": "Current assets", "zh": "流动资产"},
    "assets": {"en": "Total assets", "zh": "总资产"},
    "current_liabilities": {"en": "Current liabilities", "zh": "流动负债"},
    "liabilities": {"en": "Total liabilities", "zh": "总负债"},
    "equity": {"en": "Equity", "zh": "股东权益"},
    "inventory": {"en": "Inventory", "zh": "存货"},
}
HEAD = {"en": "million USD", "zh": "百万元"}


@dataclass(frozen=True)
class Statement:
    """A company's three years: figures by line and year, in millions."""

    name: str
    language: str
    lines: dict[str, tuple[int, ...]]

    def of(self, line: str, year: int = -1) -> int:
        """A line's figure of a year: -1 is the last one, -2 the one before."""
        return self.lines[line][year]

    def table(self) -> str:
        """As Markdown."""
        head = f"| {HEAD[self.language]} | " + " | ".join(map(str, YEARS)) + " |"
        rows = [
            f"| {LINES[line][self.language]} | " + " | ".join(map(str, figures)) + " |"
            for line, figures in self.lines.items()
        ]
        return "\n".join([head, "|---|---|---|---|", *rows])


def drawn_year(drawn: Drawn, revenue: int) -> dict[str, int]:
    """One year's lines, which add up: income is what is left, equity what is not owed."""
    year = {"revenue": revenue}
    year["cost"] = round(revenue * drawn.step(0.45, 0.7, 0.01))
    year["expenses"] = round(revenue * drawn.step(0.1, 0.2, 0.01))
    year["interest"] = round(revenue * drawn.step(0.01, 0.03, 0.005))
    before = revenue - year["cost"] - year["expenses"] - year["interest"]
    year["tax"] = round(before * 0.25)
    year["income"] = before - year["tax"]
    year["current_assets"] = round(revenue * drawn.step(0.3, 0.6, 0.01))
    year["assets"] = year["current_assets"] + round(revenue * drawn.step(0.5, 0.9, 0.01))
    year["current_liabilities"] = round(revenue * drawn.step(0.15, 0.4, 0.01))
    year["liabilities"] = year["current_liabilities"] + round(revenue * drawn.step(0.1, 0.3, 0.01))
    year["equity"] = year["assets"] - year["liabilities"]
    year["inventory"] = round(year["current_assets"] * drawn.step(0.2, 0.5, 0.01))
    return year


def drawn_statement(drawn: Drawn, language: str) -> Statement:
    """Revenue grows or shrinks from year to year; every other line is drawn by it."""
    revenue, years = round(drawn.step(200, 4000, 10)), []
    for _ in YEARS:
        years.append(drawn_year(drawn, revenue))
        revenue = round(revenue * drawn.step(0.9, 1.25, 0.01))
    lines = {line: tuple(year[line] for year in years) for line in LINES}
    return Statement(drawn.one(NAMES[language]), language, lines)


@dataclass(frozen=True)
class Ratio:
    """What is asked of a statement: in words of each language, and how it is computed."""

    kind: str
    en: str
    zh: str
    value: Callable[[Statement], float]
    unit: str = "%"


def growth(statement: Statement) -> float:
    """Of revenue in the last year, in percent."""
    return 100 * (statement.of("revenue") / statement.of("revenue", -2) - 1)


def yearly_growth(statement: Statement) -> float:
    """Of revenue over the two years, a year, in percent."""
    return 100 * ((statement.of("revenue") / statement.of("revenue", -3)) ** 0.5 - 1)


def share(of: str, whole: str) -> Callable[[Statement], float]:
    """One line as percent of another, in the last year."""
    return lambda s: 100 * s.of(of) / s.of(whole)


def times(of: str, whole: str) -> Callable[[Statement], float]:
    """One line as a multiple of another, in the last year."""
    return lambda s: s.of(of) / s.of(whole)


def operating(statement: Statement) -> float:
    """Revenue less cost and expenses, in the last year, in millions."""
    return statement.of("revenue") - statement.of("cost") - statement.of("expenses")


def mean_equity_return(statement: Statement) -> float:
    """Net income by the mean of the equity at both ends of the last year, in percent."""
    return (
        100 * statement.of("income") / ((statement.of("equity") + statement.of("equity", -2)) / 2)
    )


RATIOS = (
    Ratio(
        "growth",
        "the growth of revenue from 2022 to 2023, in percent",
        "2022年至2023年营业收入的增长率（百分比）",
        growth,
    ),
    Ratio(
        "gross_margin",
        "the gross margin of 2023, in percent",
        "2023年的毛利率（百分比）",
        lambda s: 100 * (1 - s.of("cost") / s.of("revenue")),
    ),
    Ratio(
        "current_ratio",
        "the current ratio of 2023 (current assets by current liabilities)",
        "2023年的流动比率（流动资产除以流动负债）",
        times("current_assets", "current_liabilities"),
        "",
    ),
    Ratio(
        "net_margin",
        "the net margin of 2023, in percent",
        "2023年的净利率（百分比）",
        share("income", "revenue"),
    ),
    Ratio(
        "debt_to_equity",
        "total liabilities by equity in 2023, as a multiple",
        "2023年总负债与股东权益之比（倍数）",
        times("liabilities", "equity"),
        "",
    ),
    Ratio(
        "yearly_growth",
        "the compound growth of revenue a year from 2021 to 2023, in percent",
        "2021年至2023年营业收入的复合年增长率（百分比）",
        yearly_growth,
    ),
    Ratio(
        "operating_income",
        "the operating income of 2023 (revenue less cost of sales and operating expenses), "
        "in million USD",
        "2023年的营业利润（营业收入减去营业成本和营业费用），单位为百万元",
        operating,
        "million",
    ),
    Ratio(
        "interest_cover",
        "the operating income of 2023 by its interest, as a multiple",
        "2023年的利息保障倍数（营业利润除以利息费用）",
        lambda s: operating(s) / s.of("interest"),
        "",
    ),
    Ratio(
        "return_on_equity",
        "the return on the mean equity of 2022 and 2023, in percent (net income of 2023)",
        "2023年的净资产收益率（净利润除以2022年与2023年股东权益的平均值，百分比）",
        mean_equity_return,
    ),
    Ratio(
        "quick_ratio",
        "the quick ratio of 2023 (current assets less inventory, by current liabilities)",
        "2023年的速动比率（流动资产减存货后除以流动负债）",
        lambda s: (s.of("current_assets") - s.of("inventory")) / s.of("current_liabilities"),
        "",
    ),
)
ASKS = {
    "en": "Statements of {name}:\n\n{table}\n\nWhat is {asked}?",
    "zh": "{name}的财务报表：\n\n{table}\n\n{asked}是多少？",
}


def asking(ratio: Ratio, language: str) -> Make:
    """Questions of one kind in one language."""

    def make(drawn: Drawn) -> dict[str, Any]:
        statement = drawn_statement(drawn, language)
        text = ASKS[language].format(
            name=statement.name,
            table=statement.table(),
            asked=ratio.en if language == "en" else ratio.zh,
        )
        unit = "百万" if (ratio.unit, language) == ("million", "zh") else ratio.unit
        return row(f"{ratio.kind}_{language}", text, ratio.value(statement), unit, language)

    return make


KINDS = tuple(asking(ratio, language) for ratio in RATIOS for language in ("en", "zh"))


def items(count: int, seed: int) -> list[dict[str, Any]]:
    """The first `count` questions of a seed: `question`, `answer` and `kind` with its language."""
    return questions(f"synthetic {VERSION}", KINDS, count, seed)
