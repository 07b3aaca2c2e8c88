"""What the methods of the cache have in common: their budget, and the setting that they leave."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pare_backends.cache.policy import ByScores, CachePolicy, Seen
from pare_backends.checkpoint.setting import NewSetting
from pare_backends.failures import CallFailure
from pare_backends.knobs import choice, integer, real


@dataclass(frozen=True)
class BudgetParams:
    """Knobs of a budget; the same as in plugins/kv_cache/_cache.ts."""

    budget_in: str = choice("tokens", choices=("tokens", "share"), unit="name")
    budget: int = integer(512, minimum=16, maximum=131072, unit="tokens")
    share: float = real(0.25, minimum=0.01, maximum=0.99, unit="share of the prompt")
    sinks: int = integer(0, minimum=0, maximum=64, unit="tokens")
    window: int = integer(32, minimum=1, maximum=512, unit="tokens")


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
