"""How many calibration tokens a mixture's routers send to each expert."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def count_routed(model: Any, passes: int) -> Iterator[Counter[str]]:
    """Within, counts tokens by expert, such as model.layers.0.mlp.experts.3; an expert that none is
    sent to counts 0. A model without experts counts nothing.

    model: with experts that are separate modules
    passes: calls of each block that make the calibration data up; later ones see them again
    """
    from llmcompressor.modeling.moe.linear_experts import LinearExperts2D

    counts: Counter[str] = Counter()
    calls: Counter[str] = Counter()

    def counter(name: str, experts: int) -> Any:
        def count(module: Any, arguments: tuple[Any, ...], given: dict[str, Any]) -> None:
            calls[name] += 1
            if calls[name] > passes:
                return
            chosen = given["top_k_index"] if "top_k_index" in given else arguments[1]
            for expert, tokens in enumerate(chosen.flatten().bincount(minlength=experts).tolist()):
                counts[f"{name}.{expert}"] += tokens

        return count

    handles = []
    for name, module in model.named_modules():
        if isinstance(module, LinearExperts2D):
            hook = counter(name, module.num_experts)
            handles.append(module.register_forward_pre_hook(hook, with_kwargs=True))
    try:
        yield counts
    finally:
        for handle in handles:
            handle.remove()


def routed_note(counts: Counter[str], tokens: int, rule: str) -> list[str]:
    """The sentence for an artifact; none for a model without experts."""
    if not counts:
        return []
    fewest = min(counts, key=lambda expert: counts[expert])
    empty = sum(1 for count in counts.values() if count == 0)
    most = max(counts.values())
    return [
        f"of {tokens} calibration tokens the routers send {counts[fewest]} to {most}"
        f" to an expert, fewest to {fewest}, none to {empty} of {len(counts)}; {rule}"
    ]
