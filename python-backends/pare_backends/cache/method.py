"""What the methods of the cache have in common: their budget, and the setting that they leave."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pare_backends.cache.policy import ByScores, CachePolicy, Seen
from pare_backends.checkpoint.setting import NewSetting
from pare_backends.failures import CallFailure


@dataclass(frozen=True)
class BudgetParams:
    """Knobs of a budget; the same as in plugins/kv_cache/_cache.ts."""

    budget_in: str = "tokens"
    budget: int = 512
    share: float = 0.25
    sinks: int = 0
    window: int = 32


class ByBudget(ByScores):
    """A policy by scores with such a budget, the same in every layer."""

    def __init__(self, params: BudgetParams) -> None:
        self.knobs, self.sinks, self.window = params, params.sinks, params.window
        if params.budget_in == "tokens" and params.budget <= params.sinks + params.window:
            raise CallFailure(
                "bad_input",
                f"Cannot keep {params.budget} tokens: {params.sinks} sinks and a window of "
                f"{params.window} leave no room for a choice",
                hint="Take a larger budget or a shorter window",
            )

    def budget(self, seen: Seen) -> int:
        """As `ByScores.budget`; sinks and window are kept of the shortest prompt."""
        if self.knobs.budget_in == "tokens":
            return self.knobs.budget
        return max(self.sinks + self.window, int(self.knobs.share * seen.read))

    def much(self) -> str:
        """The budget, for a phrase."""
        if self.knobs.budget_in == "tokens":
            return f"{self.knobs.budget} tokens a head"
        return f"{100 * self.knobs.share:g} % of a prompt's tokens"


def policy_setting(policy: CachePolicy, params: Any, notes: list[str]) -> NewSetting:
    """What a method of the cache leaves: a setting of its parent's weights, of which nothing is
    changed or copied."""
    notes.append(
        f"a setting without weights of its own: keys and values of {policy.words()} are kept"
    )
    return NewSetting(asdict(params))
