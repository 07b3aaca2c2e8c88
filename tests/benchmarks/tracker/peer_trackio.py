"""trackio through its own API: calls of two metrics, until they are in its SQLite file."""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from typing import Any

from peer_points import main, seconds, value


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Seconds of `calls` calls alone, and with the wait until all is written; medians."""
    os.environ["TRACKIO_DIR"] = str(Path(request["folder"]) / "trackio")
    import trackio

    calls = int(request["calls"])
    asked, written = [], []

    def log() -> None:
        for step in range(calls):
            trackio.log({"loss": value(step), "rate": 1e-3}, step=step)

    for repeat in range(int(request["repeats"])):
        trackio.init(project=f"bench-{repeat}", name="run", embed=False)
        asked.append(seconds(log))
        written.append(asked[-1] + seconds(trackio.finish))
    rows = stored_rows(Path(os.environ["TRACKIO_DIR"]))
    if rows != calls * len(asked):
        raise SystemExit(f"trackio has {rows} of {calls * len(asked)} calls")
    return {
        "version": trackio.__version__,
        "calls": calls,
        "asked_s": statistics.median(asked),
        "written_s": statistics.median(written),
    }


def stored_rows(folder: Path) -> int:
    """Rows of metrics in every project's file: what was measured was really written."""
    import sqlite3

    count = 0
    for path in folder.glob("*.db"):
        with sqlite3.connect(path) as database:
            count += database.execute("SELECT count(*) FROM metrics").fetchone()[0]
    return count


if __name__ == "__main__":
    main(measure)
