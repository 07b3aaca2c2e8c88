"""Files of scores and verdicts beside a samples file: Parquet, a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pare_backends.evaluation.outcome import SampleResult
from pare_backends.evaluation.scoring.answer import Score
from pare_backends.evaluation.scoring.context import Scoring
from pare_backends.evaluation.tasks.records import file_sha256
from pare_backends.models.whole_file import put_in_place

OF_SAMPLE = ("task", "sample_id", "sample_hash", "scorer", "scorer_version")
SCORES = {
    **dict.fromkeys((*OF_SAMPLE, "metric", "parsed_answer", "why"), "string"),
    "score": "float64",
}
VERDICTS = {
    **dict.fromkeys((*OF_SAMPLE, "question", "judge", "prompt_hash"), "string"),
    **dict.fromkeys(("rubric_version", "verdict", "reply", "obtained"), "string"),
    **dict.fromkeys(("score", "cost"), "float64"),
    **dict.fromkeys(("prompt_tokens", "reply_tokens", "cut_characters"), "int32"),
}


def write_scored(
    folder: Path,
    name: str,
    scoring: Scoring,
    scores: Sequence[Score],
    samples: Sequence[SampleResult],
) -> dict[str, Any]:
    """Both files, named by what they begin with; that of verdicts where a judge was asked. Returns
    `scores` and `verdicts` of `ScoredTask` in `core/schemas/scoring/scored.ts`."""
    own = {"scorer": scoring.scorer.scorer, "scorer_version": scoring.scorer.version}
    rows: list[dict[str, Any]] = []
    verdicts: list[dict[str, Any]] = []
    for sample, score in zip(samples, scores, strict=True):
        of = {name: getattr(sample, name) for name in ("task", "sample_id", "sample_hash")} | own
        for metric in (one.metric for one in scoring.scorer.metrics):
            value = score.values.get(metric)
            why = score.why if value is None else None
            told = {"metric": metric, "score": value, "parsed_answer": score.parsed, "why": why}
            rows.append({**of, **told})
        verdicts += [{**of, **asdict(one)} for one in score.verdicts]
    return {
        "scores": _write(folder / f"{name}.scores.parquet", rows, SCORES),
        "verdicts": _write(folder / f"{name}.verdicts.parquet", verdicts, VERDICTS)
        if verdicts
        else None,
    }


def _write(path: Path, rows: Sequence[dict[str, Any]], columns: dict[str, str]) -> dict[str, Any]:
    """The file is there whole or not at all."""
    import pyarrow
    from pyarrow import parquet

    types = {"string": pyarrow.string, "float64": pyarrow.float64, "int32": pyarrow.int32}
    schema = pyarrow.schema([(column, types[kind]()) for column, kind in columns.items()])
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema=schema), partial)
    put_in_place(partial, path)
    return {"name": path.name, "rows": len(rows), "sha256": file_sha256(path)}
