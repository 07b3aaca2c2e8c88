"""Every benchmark scores answers as it did before scorers were plugins.

`oracles/scores_before.jsonl` was written by `python test_scores_before.py` at 965dafdc, the last
commit in which an evaluator asked and scored at once: answers of a model that is made to say them,
and what they came to.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from benchmark_fixtures import packed, reading_model
from evaluation_fixtures import HERE, wire_task, wire_tasks

from pare_backends.evaluation.harness import run_harness
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.wire_task import WireTask

ORACLE = HERE / "oracles" / "scores_before.jsonl"
ROWS = 12
KEPT = (
    *("sample_id", "sample_hash", "prompt_hash", "score", "answer", "parsed_answer", "gold"),
    *("log_likelihood", "chosen", "choice_log_likelihoods", "chance", "stratum"),
)


@functools.cache
def invented() -> dict[str, list[Any]]:
    """Rows of no benchmark by the file that a data directory has them in."""
    deno = [shutil.which("deno")] if shutil.which("deno") else ["npx", "-y", "deno"]
    command = [*deno, "run", "--quiet", "--allow-read", "--allow-env", str(HERE / "print_rows.ts")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE)
    return dict(json.loads(done.stdout))


def names() -> list[str]:
    """Tasks that were there before scorers had plugins of their own."""
    lines = ORACLE.read_text(encoding="utf-8").splitlines()
    return sorted({str(json.loads(line)["task"]) for line in lines} & set(wire_tasks()))


def prepared(name: str, folder: Path) -> WireTask:
    """The task over invented rows, or over those that it ships."""
    task = wire_task(name)
    if task.data_file is None:
        shipped = HERE.parents[1] / "plugins" / "evaluation" / "data" / f"{name}.jsonl"
        return wire_task(name, shipped if shipped.exists() else None)
    for path, rows in invented().items():
        if path.split("/")[0] != task.data_file.split("/")[0]:
            continue
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(row) + "\n" for row in rows)
        data = gzip.compress(text.encode()) if path.endswith(".gz") else text.encode()
        (folder / path).write_bytes(data)
    return wire_task(name, folder / task.data_file)


def likelihood(context: str, text: str) -> tuple[float, bool]:
    """A number that looks like nats, the same on every machine, and whether greedy."""
    digest = hashlib.sha256(f"{context[-200:]}|{text}".encode()).digest()
    return -(int.from_bytes(digest[8:12], "big") % 100_000) / 16384, digest[4] % 3 == 0


def texts(target: str, raw: str) -> list[str]:
    """Answers as models give them: the right one in some forms, a wrong one, none."""
    return [
        f"Let us see. So the answer is {target}.",
        f"{raw}, so the answer is {target}.\nQ: And",
        f"{raw}",
        f" {target}",
        f"Final Answer: The final answer is ${target}$. I hope it is correct",
        f"\\boxed{{{target}}} and no more",
        "#### 17",
        "I do not know 3 * 8",
        "",
    ]


def right(row: dict[str, Any]) -> tuple[str, str]:
    """The right answer in short, and as the row has it."""
    first = ("target", "best_answer", "value", "answer", "solution")
    answer = next(row[name] for name in first if name in row)
    short = answer["value"] if isinstance(answer, dict) else answer
    return str(short), str(row.get("solution", row.get("answer", short)))


def programs(row: dict[str, Any]) -> list[str]:
    """A right program twice, one that fails and one that does not load."""
    code = str(row.get("canonical_solution", row.get("code")))
    return [code, code, "    return None\n", "    return (\n"]


def made_to_say(model: Any, task: WireTask, said: dict[str, list[str]]) -> Any:
    """The model with answers that depend on the prompt alone."""
    has_programs = task.task in ("humaneval", "mbpp")

    def generate(asked: Any, **_: Any) -> list[str]:
        found = []
        for number, one in enumerate(asked):
            options = programs(one.doc) if has_programs else texts(*right(one.doc))
            place = number + hashlib.sha256(one.args[0].encode()).digest()[7]
            found.append(options[place % len(options)])
            said.setdefault(str(one.doc_id), []).append(found[-1])
        return found

    model.generate_until = generate
    model.loglikelihood = lambda asked, **_: [likelihood(*one.args) for one in asked]
    return model


def scored(name: str, reader: Any, folder: Path) -> dict[str, Any]:
    """What the task makes of the answers, as JSON keeps it."""
    task = prepared(name, folder)
    documents = load_documents(task)
    rows = list(range(min(ROWS, len(documents.rows))))
    said: dict[str, list[str]] = {}
    model = made_to_say(packed(reader), task, said)
    outcome = run_harness(task, documents, rows, model, sandboxed=False)
    found = {
        "said": said,
        "value": outcome.value,
        "standard_error": outcome.standard_error,
        "chance": outcome.chance,
        "protocol": outcome.protocol,
        "slices": [asdict(one) for one in outcome.slices],
        "beside": [asdict(one) for one in outcome.beside],
        "samples": [{key: asdict(one)[key] for key in KEPT} for one in outcome.samples],
    }
    return dict(json.loads(json.dumps(found)))


@pytest.mark.parametrize("name", names())
def test_a_benchmark_scores_as_before(name: str, reader: Any, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in ORACLE.read_text(encoding="utf-8").splitlines()]
    (before,) = [line for line in lines if line["task"] == name]
    assert {"task": name, **scored(name, reader, tmp_path)} == before


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        own = reading_model(Path(folder) / "reader")
        every = {name: scored(name, own, Path(folder) / name) for name in names()}
    lines = [json.dumps({"task": name, **found}) + "\n" for name, found in every.items()]
    ORACLE.write_text("".join(lines), encoding="utf-8")
