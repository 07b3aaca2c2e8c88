"""Opens the judges that a call names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pare_backends.evaluation.served.endpoint import Endpoint, Judge
from pare_backends.progress import Report

if TYPE_CHECKING:
    from pare_backends.evaluation.served.model import ServedLM


def judge_openers(
    judge: Judge | None,
    panel: Sequence[Judge],
    endpoint: Endpoint | None,
    answers_path: Path | None,
    report: Report,
) -> list[Callable[[], ServedLM]]:
    """Each opens its judge once; none where no judge is named."""
    if judge is None:
        return []
    # lm-eval's language models take seconds to import.
    from pare_backends.evaluation.served.judge import judge_opener

    return [judge_opener(one, endpoint, answers_path, report) for one in (judge, *panel)]
