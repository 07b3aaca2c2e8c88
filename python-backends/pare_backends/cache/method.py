"""What the methods of the cache have in common: their budget, and the setting that they leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from pare_backends.cache.policy import ByScores, CachePolicy, Seen, When
from pare_backends.checkpoint.setting import NewSetting
from pare_backends.checkpoint.whole_cache import full_layers, why_whole
from pare_backends.failures import CallFailure

if TYPE_CHECKING:
    from pare_backends.cache.codes import Coder
    from pare_backends.checkpoint import Checkpoint


class Notes(Protocol):
    """What a method is given, as far as one of the cache needs it: `methods/context.py`."""

    @property
    def notes(self) -> list[str]:
        """Sentences for the report."""
        ...


@dataclass(frozen=True)
class CodeParams:
    """Knobs of how tokens are stored; the same as in plugins/kv_cache/_codes.ts."""

    codes: str = "none"
    code_bits: int = 4
    code_group: int = 32
    code_residual: int = 32

    def coder(self) -> Coder | None:
        """What stores them; None: they stay as they are."""
        if self.codes == "none":
            return None
        from pare_backends.cache.codes import KIVI, TurboQuant, UnbiasedTurboQuant

        if self.codes != "kivi":
            unbiased = self.codes == "turboquant_unbiased"
            of_kind = UnbiasedTurboQuant if unbiased else TurboQuant
            return of_kind(self.code_bits, self.code_residual)
        return KIVI(self.code_bits, self.code_group, self.code_residual)


@dataclass(frozen=True)
class BudgetParams(CodeParams):
    """Knobs of a budget; the same as in plugins/kv_cache/_cache.ts."""

    budget_in: str = "tokens"
    budget: int = 512
    share: float = 0.25
    sinks: int = 0
    window: int = 32


@dataclass(frozen=True)
class SteppedParams(BudgetParams):
    """With when tokens are let go of, for methods whose scores go on after the prompt."""

    evicts: str = "after_prompt"
    evict_interval: int = 1


class ByBudget(ByScores):
    """A policy by scores with such a budget, the same in every layer."""

    def __init__(self, params: BudgetParams) -> None:
        self.knobs, self.sinks, self.window = params, params.sinks, params.window
        if isinstance(params, SteppedParams):
            self.when, self.every = cast(When, params.evicts), params.evict_interval
        self.coder = params.coder()
        if self.coder is not None and self.when != "after_prompt":
            raise CallFailure(
                "bad_input",
                f"Cannot store tokens as {self.coder.words()} that are let go of {self.when}: "
                "codes are made once, of what the prompt left",
                hint="Set evicts to after_prompt, or codes to none",
            )
        window = self.window_of(params.budget)
        if params.budget_in == "tokens" and params.budget <= params.sinks + window:
            raise CallFailure(
                "bad_input",
                f"Cannot keep {params.budget} tokens: {params.sinks} sinks and a window of "
                f"{window} leave no room for a choice",
                hint="Take a larger budget or a shorter window",
            )

    def window_of(self, budget: int) -> int:
        """Last tokens that always stay of so many."""
        return self.window

    def recent(self, seen: Seen) -> int:
        """As `ByScores.recent`."""
        return self.window_of(self.budget(seen))

    def budget(self, seen: Seen) -> int:
        """As `ByScores.budget`; sinks and window are kept of the shortest prompt."""
        return self.total(seen.read)

    def total(self, read: int) -> int:
        """Keys that a head keeps of so many tokens, mean over the layers."""
        if self.knobs.budget_in == "tokens":
            return self.knobs.budget
        return max(self.sinks + self.window, int(self.knobs.share * read))

    def much(self) -> str:
        """The budget, for a phrase."""
        stored = "" if self.coder is None else f" as {self.coder.words()}"
        if self.knobs.budget_in == "tokens":
            return f"{self.knobs.budget} tokens a head{stored}"
        return f"{100 * self.knobs.share:g} % of a prompt's tokens{stored}"


def in_layers(config: Mapping[str, Any]) -> str:
    """Which layers are cut, where others keep a window or a state of their own, for a sentence.

    raises: CallFailure "invalid" where the configuration tells that none can be
    """
    why = why_whole(config)
    if why is not None:
        raise CallFailure("invalid", f"Cannot keep a part of the cache of this model: {why}")
    cut, said = full_layers(config)
    if len(cut) == said:
        return ""
    return (
        f" in layers {', '.join(map(str, cut))}; the others keep a window or a state of their own"
    )


def runs(policy: Callable[[Any], CachePolicy]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`apply` and `attach` of a method whose policy is made of its `Params`. `apply` leaves a
    setting of its parent's weights, of which nothing is changed or copied; `attach` gives the torch
    model, which keeps so much of what it reads from now on."""

    def apply(checkpoint: Checkpoint, params: Any, context: Notes) -> NewSetting:
        kept = policy(params).words()
        context.notes.append(
            f"a setting without weights of its own: keys and values of {kept} are kept"
            + in_layers(checkpoint.config)
        )
        return NewSetting(asdict(params))

    def attach(model: Any, params: Any) -> Any:
        from pare_backends.cache.attach import attach_policy

        return attach_policy(model, policy(params))

    return apply, attach
