"""Prints the facts of random models before and after cuts, a JSON line each, for the test that
holds the formulas against them. Argument: a JSON list of architecture, method and params."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from pruning_fixtures import model_dir, pruned

from pare_backends.calls.import_model import ImportModelRequest, run
from pare_backends.progress import silent_report

for asked in json.loads(sys.argv[1]):
    source = model_dir(asked["architecture"])
    before = run(ImportModelRequest(str(source), str(source / "none"), False), silent_report())
    with tempfile.TemporaryDirectory() as folder:
        result = pruned(source, Path(folder) / "out", asked["method"], **asked["params"])
    after = {name: result[name] for name in ("model", "formula_bytes", "size_bytes")}
    print(json.dumps({"before": before, **after}))
