"""What `deno task bench:tracker` asks of every peer alike: the points, the request, the answer."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

START_MS = 1_767_225_600_000  # 2026-01-01, a point a millisecond
GOLDEN = 0.6180339887498949


def value(step: int) -> float:
    """A falling loss with noise in all of its digits; own_points.ts has the same."""
    return 2.5 * math.exp(-step / 300_000) + 0.05 * ((step * GOLDEN) % 1.0)


def seconds(work: Callable[[], Any]) -> float:
    """How long a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main(measure: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Reads the request named first, writes the measured figures to the path named second."""
    request = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps(measure(request)))
