"""Writes a real lm-eval results folder: two models of lm-eval's own "dummy" kind, whose answers are
random, over small tasks of each kind. Run as `python make_lm_eval.py FOLDER`.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

folder = Path(sys.argv[1])
tasks = folder / "tasks"
tasks.mkdir(parents=True)
os.environ["HF_HOME"] = str(folder / "cache")
os.environ["HF_DATASETS_CACHE"] = str(folder / "cache" / "datasets")
os.environ["HF_HUB_OFFLINE"] = "1"

from lm_eval.__main__ import cli_evaluate  # noqa: E402  (the environment is read on import)

ROWS = [
    {"q": f"{a} + {b} =", "choices": [str(a + b), str(a - b), "0"], "label": 0, "text": "a b c"}
    for a, b in [(1, 2), (3, 4), (5, 6), (7, 8)]
]
(tasks / "rows.json").write_text("\n".join(json.dumps(row) for row in ROWS))

COMMON = f"""
dataset_path: json
dataset_kwargs: {{data_files: {{test: {tasks / "rows.json"}}}}}
test_split: test
doc_to_text: "{{{{q}}}}"
"""
CHOICE = """
output_type: multiple_choice
doc_to_target: label
doc_to_choice: "{{choices}}"
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
metadata: {version: 1.5}
"""
GENERATE = """
output_type: generate_until
doc_to_target: "{{choices[0]}}"
generation_kwargs: {until: ["\\n"], do_sample: false}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
filter_list:
  - name: strict-match
    filter: [{function: regex, regex_pattern: "#### (.*)"}, {function: take_first}]
  - name: flexible-extract
    filter: [{function: regex, regex_pattern: "l(o)l"}, {function: take_first}]
metadata: {version: 3}
"""
PERPLEXITY = """
output_type: loglikelihood_rolling
doc_to_target: "{{text}}"
metric_list:
  - {metric: word_perplexity, higher_is_better: false}
  - {metric: bits_per_byte, higher_is_better: false}
metadata: {version: 2}
"""
for name, text in [
    ("sums_a", CHOICE + "num_fewshot: 0\n"),
    ("sums_b", CHOICE + "num_fewshot: 0\n"),
    ("worked", GENERATE + "fewshot_split: test\nnum_fewshot: 1\n"),
    ("spoken", PERPLEXITY.replace("doc_to_text", "x")),
]:
    (tasks / f"{name}.yaml").write_text(f"task: {name}\n{COMMON}{text}")
(tasks / "sums.yaml").write_text(
    "group: sums\ntask: [sums_a, sums_b]\n"
    "aggregate_metric_list: [{metric: acc, weight_by_size: true}]\nmetadata: {version: 1}\n"
)


def run(model: str, names: str) -> None:
    random.seed(model)
    sys.argv = [
        *["lm-eval", "run", "--model", "dummy", "--model_args", f"pretrained={model}"],
        *["--include_path", str(tasks), "--tasks", names, "--log_samples"],
        *["--output_path", str(folder / "results")],
    ]
    cli_evaluate()


run("org/tiny-a", "sums,spoken")
run("org/tiny-a", "worked")
run("org/tiny-b", "sums")
