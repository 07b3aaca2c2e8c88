"""The tokens that the last ones of a prompt look at (SnapKV, Li et al. 2024, arXiv 2404.14469)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pare_backends.cache.policy import ByScores, Seen
from pare_backends.checkpoint import Checkpoint
from pare_backends.checkpoint.setting import NewSetting
from pare_backends.failures import StageFailure
from pare_backends.knobs import choice, integer, real

if TYPE_CHECKING:
    import torch

    from pare_backends.methods.context import Context


@dataclass(frozen=True)
class Params:
    """Knobs; the same as in plugins/kv_cache/snapkv.ts."""

    budget_in: str = choice("tokens", choices=("tokens", "share"), unit="name")
    budget: int = integer(512, minimum=16, maximum=131072, unit="tokens")
    share: float = real(0.25, minimum=0.01, maximum=0.99, unit="share of the prompt")
    sinks: int = integer(0, minimum=0, maximum=64, unit="tokens")
    window: int = integer(32, minimum=1, maximum=512, unit="tokens")
    kernel: int = integer(5, minimum=1, maximum=63, unit="tokens")
    pool: str = choice("mean", choices=("mean", "max"), unit="name")


class SnapKV(ByScores):
    """Scores a key by the attention that the prompt's last `window` tokens pay it and `kernel`
    neighbours, mean over the query heads of its group."""

    def __init__(self, params: Params) -> None:
        self.params, self.sinks, self.window = params, params.sinks, params.window
        if params.budget_in == "tokens" and params.budget <= params.sinks + params.window:
            raise StageFailure(
                "bad_input",
                f"Cannot keep {params.budget} tokens: {params.sinks} sinks and a window of "
                f"{params.window} leave no room for a choice",
                hint="Take a larger budget or a shorter window",
            )
        if params.kernel % 2 == 0:
            raise StageFailure(
                "bad_input", f"Cannot pool over {params.kernel} tokens: kernel must be odd"
            )

    def budget(self, seen: Seen) -> int:
        p = self.params
        least = p.sinks + p.window
        return p.budget if p.budget_in == "tokens" else max(least, int(p.share * seen.read))

    def scores(self, seen: Seen) -> torch.Tensor:
        from torch.nn import functional

        from pare_backends.cache.scoring import attention_sums, by_key_head

        before = seen.keys.shape[-2] - self.window  # the window itself always stays
        sums = by_key_head(attention_sums(seen, self.window), seen)[..., :before]
        pool = functional.avg_pool1d if self.params.pool == "mean" else functional.max_pool1d
        size = self.params.kernel
        pooled = pool(sums, size, stride=1, padding=size // 2)
        return functional.pad(pooled, (0, self.window))

    def words(self) -> str:
        p = self.params
        much = (
            f"{p.budget} tokens" if p.budget_in == "tokens" else f"{100 * p.share:g} % of a prompt"
        )
        return f"{much} a head, those that its last {p.window} tokens look at"


def apply(checkpoint: Checkpoint, params: Params, context: Context) -> NewSetting:
    """A setting of the parent's weights: nothing of them is changed or copied."""
    kept = SnapKV(params).words()
    context.notes.append(
        f"a setting without weights of its own: keys and values of {kept} are kept"
    )
    return NewSetting(asdict(params))


def attach(model: Any, params: Params) -> Any:
    """The torch model, which keeps so much of a prompt from now on."""
    from pare_backends.cache.attach import attach_policy

    return attach_policy(model, SnapKV(params))
