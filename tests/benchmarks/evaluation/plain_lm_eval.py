"""lm-eval without pare: its own documents over the same rows, its own model class and batches."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lm_eval
import yaml
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

from pare_backends.evaluation.scoring.answer import OWN, Answer
from pare_backends.evaluation.scoring.scorer import module_of
from pare_backends.evaluation.tasks.documents import Documents
from pare_backends.evaluation.tasks.groups import groups_of, split_rows
from pare_backends.evaluation.tasks.wire_task import WireTask

TASKS = Path(lm_eval.__file__).parent / "tasks"
PROTOCOL = ("generation_kwargs", "metric_list")
"""What a task of pare says differently from lm-eval's document that it includes."""


@dataclass
class Round:
    """One pass over a task: its seconds, each row's score, and what was generated or how likely
    the answers were, in the rows' order."""

    seconds: float
    scores: dict[int, float]
    texts: dict[int, str] = field(default_factory=dict)
    likelihoods: dict[int, float] = field(default_factory=dict)


class PlainTask:
    """A task as lm-eval loads it from files: one of its tasks for each group of rows."""

    def __init__(self, task: WireTask, documents: Documents, rows: list[int], folder: Path) -> None:
        folder.mkdir(parents=True)
        self.task = task
        groups = groups_of(task.definition or {})
        self._rows: dict[str, list[int]] = {}
        for number, part in enumerate(split_rows(groups, documents.rows, rows)):
            name = f"{task.task}_{number}"
            group = None if groups is None else groups.of(documents.rows[part[0]])
            content = {"test": [documents.rows[row] for row in part]}
            examples = documents.examples
            if groups is not None:
                examples = [row for row in examples if groups.of(row) == group]
            if examples:
                content["train"] = examples
            document = _document(task, group, _write(folder / name, content))
            (folder / f"{name}.yaml").write_text(yaml.safe_dump({**document, "task": name}))
            self._rows[name] = part
        manager = TaskManager(include_path=str(folder), include_defaults=False)
        self._loaded = manager.load(list(self._rows))

    def run(self, model: HFLM) -> Round:
        """`lm_eval.evaluate`: what `simple_evaluate` does but for its report on the machine."""
        started = time.perf_counter()
        results = lm_eval.evaluate(
            lm=model, task_dict=self._loaded, bootstrap_iters=0, log_samples=True
        )
        found = Round(time.perf_counter() - started, {})
        metric, _, wanted = self.task.metric.partition(",")
        scorer = self.task.scorers[0]
        module = None if scorer.scorer == "lm_eval_metric" else module_of(scorer)
        for name, rows in self._rows.items():
            for sample in results["samples"][name]:
                row = rows[sample["doc_id"]]
                if module is None and sample["filter"] != wanted:
                    continue
                responses = sample["resps"]
                if isinstance(responses[0][0], str):
                    found.texts[row] = responses[0][0]
                if module is None:
                    found.scores[row] = float(sample[metric])
                else:  # the task's own scorer, of lm-eval's own generation
                    said, params = Answer(texts=(responses[0][0],)), module.Params(**scorer.params)
                    found.scores[row] = module.score(said, sample["doc"], params).values[OWN]
                if len(responses) == 1 and not isinstance(responses[0][0], str):
                    found.likelihoods[row] = float(responses[0][0][0])
        return found


def _document(task: WireTask, group: str | None, files: dict[str, str]) -> dict[str, Any]:
    """lm-eval's own document over these files; a task that ships with pare is one itself."""
    definition = dict(task.definition or {})
    groups = groups_of(definition)
    include = definition.get("include")
    if groups is not None and groups.include is not None and group is not None:
        include = groups.include.format(group)
    if include is None:
        own = definition
    else:
        own = {name: definition[name] for name in PROTOCOL if name in definition}
        own["include"] = str(TASKS / include)
    shots = {"num_fewshot": task.few_shot} if task.few_shot and "train" in files else {}
    first = {"fewshot_split": "train", "fewshot_config": {"sampler": "first_n"}}
    return {
        **own,
        **shots,
        "dataset_path": "json",
        "dataset_name": None,
        "dataset_kwargs": {"data_files": files},
        "test_split": "test",
        "validation_split": None,
        "training_split": "train" if "train" in files else None,
        **(first if "train" in files else {}),
    }


def _write(folder: Path, content: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    """A file a split. Fields must have one type in all: one that is null somewhere is not used."""
    folder.mkdir()
    every = [row for rows in content.values() for row in rows]
    empty = {name for row in every for name, value in row.items() if value is None}
    files = {}
    for split, rows in content.items():
        kept = [{name: row[name] for name in row if name not in empty} for row in rows]
        path = folder / f"{split}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
        files[split] = str(path)
    return files


def score_windows(model: HFLM, windows: dict[int, list[int]], started: float) -> Round:
    """Mean loss of each window in lm-eval's own batches: its first token is the context."""
    asked = [(("", str(row)), window[:1], window[1:]) for row, window in windows.items()]
    found = model._loglikelihood_tokens(asked, disable_tqdm=True)
    losses = {
        row: -likelihood / (len(window) - 1)
        for (row, window), (likelihood, _) in zip(windows.items(), found, strict=True)
    }
    return Round(time.perf_counter() - started, losses)
