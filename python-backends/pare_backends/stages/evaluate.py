"""Stage `evaluate`: quality of an artifact on every task, from one load of the model."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.chat_template import use_chat_template
from pare_backends.evaluation.generated_code import runnable
from pare_backends.evaluation.harness import run_harness
from pare_backends.evaluation.likelihood import OriginalAnswers, run_likelihood
from pare_backends.evaluation.original.distributions import Original, original_model
from pare_backends.evaluation.outcome import TaskOutcome, measurements
from pare_backends.evaluation.perplexity import run_perplexity, windows
from pare_backends.evaluation.samples_file import write_samples
from pare_backends.evaluation.served.endpoint import Endpoint
from pare_backends.evaluation.served.served_tasks import Refusals, judge_outcomes, open_served
from pare_backends.evaluation.tasks.documents import Documents, load_documents
from pare_backends.evaluation.tasks.lm_groups import group_measurements
from pare_backends.evaluation.tasks.records import file_sha256
from pare_backends.evaluation.tasks.wire_task import SampleSelection, WireTask
from pare_backends.failures import StageFailure
from pare_backends.progress import Report
from pare_backends.runtimes.registry import add_runtime, open_model

if TYPE_CHECKING:
    from pare_backends.evaluation.packed.language_model import PackedLM


@dataclass(frozen=True)
class EvaluationRuntime:
    """What scores instead of the dequantized model in transformers."""

    name: str
    form_dir: str
    """What `make_form` made for it."""
    python: str
    """The interpreter of its environment."""
    runtime_dir: str | None = None
    """Of a third party's runtime: the folder of its Python half."""


@dataclass(frozen=True)
class OriginalModel:
    """The study's uncompressed model, which others are held against on text."""

    artifact_dir: str
    artifact_id: str
    cache_dir: str
    """Of this model alone: what it says is kept there."""


@dataclass(frozen=True)
class EvaluateRequest:
    """Request of the stage, as in `core/schemas/wire.ts`."""

    artifact_dir: str
    tasks: list[WireTask]
    selections: list[SampleSelection]
    fidelity: str
    """The rung's name: what the figures are marked with."""
    batch_size: int
    samples_path: str
    seed: int
    batched_apart: list[SampleSelection]
    answers_path: str | None
    answer_chars: int
    runtime: EvaluationRuntime | None
    allow_unsafe_code: bool
    endpoint: Endpoint | None = None
    judge: Endpoint | None = None
    chat_template: bool = False
    weights_dir: str | None = None
    """Of a setting: where its weights lie."""
    original: OriginalModel | None = None
    """None: nothing is compared."""
    likelihood: bool = False
    """The original's own answers are scored, and none is generated but by the original."""
    evict_after: Literal["context"] | None = None
    """A cache is cut after each sample's context, and what follows alone is scored."""


def run(request: EvaluateRequest, report: Report) -> dict[str, Any]:
    """Measures every task on its selected rows; writes the samples as a Parquet file."""
    _require_name(request.fidelity)
    rows = _selected(request)
    refusals = Refusals()
    left = runnable(request.tasks, request.allow_unsafe_code, report, refusals)
    request = replace(request, tasks=left)
    documents = {task.task: load_documents(task) for task in request.tasks}
    with report.span("load", library=True):
        if any(task.evaluator == "lm_eval" for task in request.tasks):
            importlib.import_module("lm_eval.models.huggingface")  # 2 s, lm-eval's own
        if request.endpoint is None:
            model, tokenizer, numerics = _load(request, report)
        else:
            model, tokenizer, numerics = open_served(request.endpoint, request.answers_path, report)
    _require_scorable(request, model)
    if request.runtime is not None:
        request = replace(request, batch_size=min(request.batch_size, model.largest_batch))
    for task in request.tasks:
        _require_rows(task, rows[task.task], documents[task.task], tokenizer)
    with report.span("evaluate", library=True):
        outcomes = _run_tasks(request, rows, documents, model, tokenizer, report, refusals)
    refusals.require_some(outcomes)
    device = "endpoint" if request.endpoint is not None else str(model.device.type)
    outcomes, judged = judge_outcomes(request, outcomes, documents, device, report, refusals)
    path = Path(request.samples_path)
    write_samples(path, outcomes, request.answer_chars)
    return {
        "measurements": [
            {**m, "method": f"{m['method']}; {numerics}", **_in_runtime(request, model, m)}
            for outcome in outcomes
            for m in measurements(outcome, request.fidelity, device)
        ]
        + group_measurements(outcomes, request.fidelity, device)
        + judged,
        "samples": sum(len(outcome.samples) for outcome in outcomes),
        "requests": sum(outcome.asked for outcome in outcomes),
        "reused_requests": sum(outcome.reused for outcome in outcomes),
        "samples_sha256": file_sha256(path),
        "protocol": {outcome.task.task: outcome.protocol for outcome in outcomes},
        "protocol_parts": {outcome.task.task: outcome.protocol_parts for outcome in outcomes},
        "refused": refusals.rows,
    }


def _require_name(fidelity: str) -> None:
    if re.fullmatch("[a-z][a-z0-9_]{0,31}", fidelity) is None:
        raise StageFailure(
            "bad_input",
            f"Cannot evaluate on the rung {fidelity!r}: a name is at most 32 small letters, digits"
            " and _",
        )


def _selected(request: EvaluateRequest) -> dict[str, list[int]]:
    """Rows by task, ascending and each once."""
    found = {selection.task: selection.rows for selection in request.selections}
    for task in request.tasks:
        if not found.get(task.task):
            raise StageFailure("bad_input", f"Cannot evaluate {task.task}: no rows are selected")
    return {name: sorted(set(rows)) for name, rows in found.items()}


def _weighed(request: EvaluateRequest) -> set[str]:
    """Tasks whose strata count by their rows."""
    return {selection.task for selection in request.selections if selection.weigh_strata}


def _require_rows(task: WireTask, rows: list[int], documents: Documents, tokenizer: Any) -> None:
    perplexity = task.evaluator == "perplexity"
    total = len(windows(task, documents, tokenizer)) if perplexity else len(documents.rows)
    if rows[0] < 0 or rows[-1] >= total:
        wrong = rows[0] if rows[0] < 0 else rows[-1]
        raise StageFailure(
            "bad_input", f"Cannot evaluate row {wrong} of {task.task}: it has {total} rows"
        )


def _require_scorable(request: EvaluateRequest, model: Any) -> None:
    """Raises where what would be measured says nothing of what the model keeps."""
    from pare_backends.cache.policy import chooses_by_content, policy_of

    if request.evict_after is not None and request.endpoint is not None:
        raise StageFailure(
            "bad_input", "Cannot cut the cache of a model behind a server after a context"
        )
    policy = policy_of(model)
    if policy is not None and chooses_by_content(model) and request.evict_after is None:
        raise StageFailure(
            "bad_input",
            f"Cannot score whole texts where {policy.words()} are kept: what is kept depends on"
            " what was read, and one pass over a text says nothing of it",
            hint='Evaluate with evict_after "context", as a study does that names the method',
        )


def _in_runtime(request: EvaluateRequest, model: Any, row: dict[str, Any]) -> dict[str, Any]:
    """A runtime's figure has a name of its own: no ranking takes it for the evaluation's."""
    if request.runtime is None:
        return {}
    name = request.runtime.name
    return {"metric": f"runtime_{row['metric']}", "runtime": name, "numerics": model.numerics}


def _load(request: EvaluateRequest, report: Report) -> tuple[Any, Any, str]:
    """Model in float32 with its tokenizer, and a phrase on its numerics."""
    from pare_backends.checkpoint import GridTensor, read
    from pare_backends.checkpoint.load import load_model, load_tokenizer
    from pare_backends.checkpoint.setting import source_of

    source = source_of(request.artifact_dir, request.weights_dir)
    artifact_dir = source.weights_dir
    if request.runtime is not None:
        runtime = request.runtime
        if source.setting is not None:
            raise StageFailure(
                "bad_input",
                f"Cannot score {source.setting.label()} in the runtime {runtime.name}:"
                " it is known in transformers alone",
            )
        add_runtime(runtime.name, runtime.runtime_dir)
        model = open_model(
            runtime.name, artifact_dir, runtime.form_dir, runtime.python, report.threads
        )
        return model, load_tokenizer(artifact_dir), f"scored in {runtime.name}"
    checkpoint = read(artifact_dir)
    quantized = checkpoint.in_form(GridTensor).values()
    rounded = {
        (t.activation_bits, t.activation_group_size, t.activation_scale is not None)
        for t in quantized
        if t.activation_bits is not None
    }
    numerics = "weights dequantized to float32" if quantized else "weights in float32"
    for bits, group, static in sorted(rounded):
        share = "a token" if group == -1 else f"{group} features of a token"
        share = "all inputs of a layer, fixed by calibration" if static else share
        numerics += f", activations fake-quantized to int{bits} with a scale for {share}"
    if source.setting is not None:
        numerics += f", with {source.setting.label()}"
    model = source.attach(load_model(checkpoint, artifact_dir))
    return model, load_tokenizer(artifact_dir), numerics


def _original(request: EvaluateRequest, tokenizer: Any) -> Original | None:
    """The uncompressed model; None where text is not held against it: a runtime and a server give
    no logits of whole windows here."""
    given = request.original
    elsewhere = request.runtime is not None or request.endpoint is not None
    compared = request.likelihood or any(one.evaluator == "perplexity" for one in request.tasks)
    if given is None or elsewhere or not compared:
        return None
    return original_model(given.artifact_dir, given.artifact_id, given.cache_dir, tokenizer)


def _answers_of(
    request: EvaluateRequest, original: Original | None, is_scored: bool, report: Report
) -> OriginalAnswers:
    """Whose answers are scored: those of the study's uncompressed model."""
    if original is None:
        raise StageFailure(
            "bad_input", "Cannot score the original's answers: the request names no original"
        )

    def load() -> PackedLM:
        from pare_backends.checkpoint.load import load_dequantized
        from pare_backends.evaluation.packed.language_model import PackedLM

        with report.span("load", library=True):
            loaded, tokenizer = load_dequantized(original.directory)[:2]
        model = PackedLM(loaded, tokenizer, request.batch_size, report)
        if request.chat_template:
            use_chat_template(model, tokenizer)
        return model

    return OriginalAnswers(original, is_scored, load)


def _run_tasks(
    request: EvaluateRequest,
    rows: dict[str, list[int]],
    documents: dict[str, Documents],
    model: Any,
    tokenizer: Any,
    report: Report,
    refusals: Refusals,
) -> list[TaskOutcome]:
    served = request.endpoint is not None
    harness = model if served else None
    path = None if request.answers_path is None else Path(request.answers_path)
    answers = (
        model.answers if served else Answers(path, f"{model.device.type}, {report.threads} threads")
    )
    if served and request.chat_template:
        use_chat_template(model, tokenizer)
    original = _original(request, tokenizer)
    is_original = original is not None and Path(request.artifact_dir) == original.directory
    apart: dict[str, list[set[int]]] = {}
    for selection in request.batched_apart:
        apart.setdefault(selection.task, []).append(set(selection.rows))
    outcomes: list[TaskOutcome] = []
    for task in request.tasks:
        chosen, read = rows[task.task], documents[task.task]
        first = apart.get(task.task, [])
        with refusals.of(task):
            if task.evaluator == "perplexity":
                size = request.batch_size
                outcomes.append(
                    run_perplexity(
                        task,
                        read,
                        chosen,
                        model,
                        tokenizer,
                        size,
                        report,
                        answers,
                        first,
                        original,
                        model if is_original else None,
                        request.evict_after or "",
                    )
                )
                continue
            if harness is None:
                from pare_backends.evaluation.packed.language_model import PackedLM

                packed = PackedLM(model, tokenizer, request.batch_size, report, answers)
                packed.evict_after = request.evict_after or ""
                if request.chat_template:
                    use_chat_template(packed, tokenizer)
                harness = packed  # not before: no later task may run without the template
            sandboxed = not request.allow_unsafe_code
            weighed = task.task in _weighed(request)
            if request.likelihood:
                source = _answers_of(request, original, is_original, report)
                outcomes.append(run_likelihood(task, read, chosen, harness, source, first, weighed))
                continue
            outcomes.append(run_harness(task, read, chosen, harness, first, sandboxed, weighed))
    return outcomes
