"""How a scorer stands in the hash under which figures may be compared."""

from __future__ import annotations

from typing import Any

from pare_backends.evaluation.tasks.records import content_hash
from pare_backends.evaluation.tasks.wire_task import WireScorer

UNNAMED: dict[str, dict[str, str]] = {
    "lm_eval_metric": {},
    "token_loss": {},
    "final_number": {"gold": "gold"},
    "contains": {"gold": "gold"},
    "contains_span": {"gold": "gold"},
    "last_box": {"gold": "gold"},
    "countdown": {"gold": "gold"},
    "programs_pass": {"problem": "code"},
}
"""What scored before scorers had names, with the words of a definition's metadata for its knobs:
its first version hashes as it did then, so that studies of before and after are compared."""


def is_unnamed(scorer: WireScorer) -> bool:
    """Whether a task of before scorers had names may have been scored so."""
    first = scorer.version == "1" and scorer.python_path is None
    return first and scorer.scorer in UNNAMED and scorer.params.get("metric") is None


def hashed_definition(definition: dict[str, Any], scorer: WireScorer) -> dict[str, Any]:
    """A task's definition as it is hashed."""
    words = UNNAMED.get(scorer.scorer, {})
    if not words or not is_unnamed(scorer):
        return definition
    knobs = {word: scorer.params[knob] for knob, word in words.items()}
    rule = {} if "code" in knobs else {"rule": scorer.scorer}
    return {**definition, "metadata": {**(definition.get("metadata") or {}), **rule, **knobs}}


def scorer_part(scorer: WireScorer) -> list[Any] | None:
    """What of a scorer is hashed beside the definition; None: nothing, as before it had a name."""
    if is_unnamed(scorer):
        return None
    return [scorer.scorer, scorer.version, scorer.params]


def named_part(scorer: WireScorer) -> str | None:
    """The same among the parts of a protocol; None: it is none of them."""
    if scorer_part(scorer) is None:
        return None
    return f"{scorer.scorer} {scorer.version} {content_hash(scorer.params)}"
