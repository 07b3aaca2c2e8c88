"""Reads a store's DuckDB file and its Parquet export as their users do; prints JSON.

    python read_store.py DATABASE EXPORT [frames]

With `frames`, pandas and Polars read too.
"""

from __future__ import annotations

import json
import sys

import duckdb

database, export, *rest = sys.argv[1:]
TRIALS = f"{export}/tables/trials"
QUOTED = TRIALS.replace("'", "''")
SQL = "SELECT study_id, trial_id, number FROM {} ORDER BY study_id, number"
HIVE = (
    f"read_parquet('{QUOTED}/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)"
)

found: dict[str, object] = {"version": duckdb.__version__}
with duckdb.connect(database, read_only=True) as store:
    found["trials"] = store.sql(SQL.format("trials")).fetchall()
    found["leaderboard"] = store.sql("SELECT count(*) FROM leaderboard").fetchall()[0]
    found["nan"] = store.sql("SELECT count(*) FROM measurements WHERE isnan(value)").fetchall()[0]
    views = store.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    for (view,) in views:
        store.sql(f"FROM {view}").fetchall()
    found["views"] = len(views)
    try:
        store.sql("DELETE FROM trials")
        found["write"] = "allowed"
    except duckdb.Error as error:
        found["write"] = type(error).__name__

found["parquet_trials"] = duckdb.sql(SQL.format(HIVE)).fetchall()
found["parquet_view"] = [len(duckdb.read_parquet(f"{export}/views/leaderboard.parquet").fetchall())]

if rest == ["frames"]:
    import pandas
    import polars

    columns = ["study_id", "trial_id", "number"]
    frame = pandas.read_parquet(TRIALS, columns=columns)
    frame["study_id"] = frame["study_id"].astype(str)
    frame = frame.sort_values(["study_id", "number"])
    found["pandas"] = frame[columns].values.tolist()
    with duckdb.connect(database, read_only=True) as store:
        found["pandas_view"] = len(store.sql("FROM leaderboard").df())
        found["polars_view"] = len(store.sql("FROM leaderboard").pl())
    lazy = polars.scan_parquet(f"{TRIALS}/**/*.parquet", hive_partitioning=True)
    sorted_rows = lazy.select(columns).sort("study_id", "number").collect()
    found["polars"] = [list(row) for row in sorted_rows.rows()]
    empty = polars.read_parquet(f"{export}/tables/problems.parquet")
    found["polars_empty"] = [len(empty), empty.columns]

print(json.dumps(found))
