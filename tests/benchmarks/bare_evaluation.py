"""Quality by lm-eval's `simple_evaluate`: the evaluation half of bare_study.py."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any


def perplexity(task: dict[str, Any], rows: list[int], model: Any, tokenizer: Any, size: int) -> Any:
    """exp of the mean loss over the windows that `rows` numbers."""
    import torch

    lines = Path(task["data_path"]).read_text().splitlines()
    text = "\n\n".join(json.loads(line)["text"] for line in lines if line.strip())
    ids = tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids[0]
    width = task["window_tokens"]
    windows = torch.stack([ids[row * width : (row + 1) * width] for row in rows])
    losses = []
    with torch.inference_mode():
        for batch in windows.split(max(1, size * 64 // width)):
            losses.append(model(batch, labels=batch).loss * len(batch))
    return math.exp(float(sum(losses)) / len(windows))


def evaluate(
    request: dict[str, Any], rows: dict[str, list[int]], model: Any, tokenizer: Any
) -> dict[str, float]:
    """Each task's figure on its rows: lm-eval's `simple_evaluate`, and a loop for perplexity."""
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    tasks = [task for task in request["tasks"] if task["task"] in rows]
    harness = [task for task in tasks if task["window_tokens"] is None]
    found = {
        task["task"]: perplexity(task, rows[task["task"]], model, tokenizer, request["batch_size"])
        for task in tasks
        if task["window_tokens"] is not None
    }
    if not harness:
        return found
    configs = [
        {
            **task["definition"],
            "task": task["task"],
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": task["data_path"]}},
            "test_split": "test",
            "num_fewshot": task["few_shot"],
        }
        for task in harness
    ]
    results = simple_evaluate(
        model=HFLM(
            pretrained=model,
            tokenizer=tokenizer,
            backend="causal",
            batch_size=request["batch_size"],
        ),
        tasks=configs,
        samples={task["task"]: rows[task["task"]] for task in harness},
        bootstrap_iters=0,
        log_samples=False,
        task_manager=TaskManager(include_defaults=False),
    )
    assert results is not None
    scores = {t["task"]: results["results"][t["task"]][t["metric"]] for t in harness}
    return {**found, **{name: float(value) for name, value in scores.items()}}
