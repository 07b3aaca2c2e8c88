"""What answers an evaluation: a model in memory, one in a runtime, or one behind a server."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pare_backends.device import computes_on, placed
from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.chat_template import use_chat_template
from pare_backends.evaluation.likelihood import OriginalAnswers
from pare_backends.evaluation.original.distributions import Original, original_model
from pare_backends.evaluation.perplexity import TextReader
from pare_backends.evaluation.served.endpoint import Endpoint
from pare_backends.evaluation.served.served_tasks import open_served
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.failures import CallFailure
from pare_backends.progress import Report
from pare_backends.runtimes.registry import add_runtime, open_model

if TYPE_CHECKING:
    from pare_backends.evaluation.packed.language_model import PackedLM
    from pare_backends.evaluation.packed.shared_prompts import Beside


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
    precision: str | None = None
    """In which weights run that are all floats; None: the runtime's own."""
    cache: dict[str, Any] | None = None
    """Values of the knobs of its cache; None: it is kept as when its speed is measured."""


@dataclass(frozen=True)
class OriginalModel:
    """The study's uncompressed model, which others are held against on text."""

    artifact_dir: str
    artifact_id: str
    cache_dir: str
    """Of this model alone: what it says is kept there."""


@dataclass(frozen=True)
class BesideSetting:
    """Another setting of the same weights, which is asked the same of every prompt that is read."""

    artifact_dir: str
    answers_path: str
    """Of its own evaluation, which finds there what was answered meanwhile."""


class Answering(Protocol):
    """What of an evaluation's request says who answers."""

    @property
    def artifact_dir(self) -> str: ...
    @property
    def weights_dir(self) -> str | None: ...
    @property
    def tasks(self) -> list[WireTask]: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def answers_path(self) -> str | None: ...
    @property
    def runtime(self) -> EvaluationRuntime | None: ...
    @property
    def endpoint(self) -> Endpoint | None: ...
    @property
    def chat_template(self) -> bool: ...
    @property
    def original(self) -> OriginalModel | None: ...
    @property
    def likelihood(self) -> bool: ...
    @property
    def evict_after(self) -> str | None: ...
    @property
    def beside(self) -> list[BesideSetting]: ...


@dataclass(frozen=True)
class Opened:
    """What answers: a model in memory, one in a runtime, or one behind a server."""

    numerics: str
    reader: TextReader
    """The model as it reads texts, with what it answered before."""
    packed: Callable[[], Any]
    """The same as lm-eval's model, made when a task asks it."""

    @property
    def device(self) -> str:
        """Where it runs."""
        model = self.reader.model
        device = getattr(model, "device", None)
        return "endpoint" if hasattr(model, "client") else str(device.type if device else "")


def open_answering(request: Answering, report: Report) -> Opened:
    size = request.batch_size
    if request.endpoint is not None:
        model, tokenizer, numerics = open_served(request.endpoint, request.answers_path, report)
        if request.chat_template:
            use_chat_template(model, tokenizer)
        served = TextReader(model, tokenizer, size, report, model.answers)
        return Opened(numerics, served, lambda: model)
    model, tokenizer, numerics = _load(request, report)
    if request.runtime is not None:
        size = min(size, model.largest_batch)
    path = None if request.answers_path is None else Path(request.answers_path)
    machine = computes_on(model.device, report.threads)
    answers = Answers(path, machine)
    original = _original(request, tokenizer)
    is_original = original is not None and Path(request.artifact_dir) == original.directory
    loaded, evict_after = model if is_original else None, request.evict_after or ""
    beside = _beside(request.beside, model, machine)
    reader = TextReader(
        model, tokenizer, size, report, answers, original, loaded, evict_after, beside
    )
    # Nothing is kept where it fails: no later task may run without the template.
    packed = functools.cache(lambda: _packed(reader, request.chat_template))
    return Opened(numerics, reader, packed)


def _packed(reader: TextReader, chat_template: bool) -> PackedLM:
    from pare_backends.evaluation.packed.language_model import PackedLM

    packed = PackedLM(
        reader.model, reader.tokenizer, reader.batch_size, reader.report, reader.answers
    )
    packed.evict_after, packed.beside = reader.evict_after, reader.beside
    if chat_template:
        use_chat_template(packed, reader.tokenizer)
    return packed


def _beside(given: Sequence[BesideSetting], model: Any, machine: str) -> list[Beside]:
    """The other settings that can share the reading of a prompt with the model's own."""
    if not given:
        return []
    from pare_backends.cache.attach import gathered_policies
    from pare_backends.cache.policy import policy_of, shares_prompts
    from pare_backends.checkpoint.setting import method_params, policy_module, read_setting
    from pare_backends.evaluation.packed.shared_prompts import Beside

    if not shares_prompts(policy_of(model)):
        return []
    found = []
    for one in given:
        setting = read_setting(one.artifact_dir)
        if setting is None:
            raise CallFailure(
                "bad_input", f"Cannot ask {one.artifact_dir} beside: it is no setting of a cache"
            )
        with gathered_policies() as policies:
            policy_module(setting).attach(model, method_params(setting))
        if shares_prompts(policies[0]):
            found.append(Beside(policies[0], Answers(Path(one.answers_path), machine)))
    return found


def original_answers(reader: TextReader, chat_template: bool) -> OriginalAnswers:
    """Whose answers are scored: those of the study's uncompressed model."""
    original, report = reader.original, reader.report
    if original is None:
        raise CallFailure(
            "bad_input", "Cannot score the original's answers: the request names no original"
        )

    def load() -> PackedLM:
        from pare_backends.checkpoint.load import load_dequantized

        with report.span("load", library=True):
            loaded, tokenizer = load_dequantized(original.directory)
            loaded = placed(loaded)
        return _packed(TextReader(loaded, tokenizer, reader.batch_size, report), chat_template)

    return OriginalAnswers(original, reader.loaded is not None, load)


def _load(request: Answering, report: Report) -> tuple[Any, Any, str]:
    """Model in float32 with its tokenizer, and a phrase on its numerics."""
    from pare_backends.checkpoint import GridTensor, read
    from pare_backends.checkpoint.load import load_model, load_tokenizer
    from pare_backends.checkpoint.setting import source_of

    source = source_of(request.artifact_dir, request.weights_dir)
    artifact_dir = source.weights_dir
    if request.runtime is not None:
        runtime = request.runtime
        if source.setting is not None:
            raise CallFailure(
                "bad_input",
                f"Cannot score {source.setting.label()} in the runtime {runtime.name}:"
                " it is known in transformers alone",
            )
        add_runtime(runtime.name, runtime.runtime_dir)
        model = open_model(
            runtime.name,
            artifact_dir,
            runtime.form_dir,
            runtime.python,
            report.threads,
            runtime.precision,
            runtime.cache,
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
    model = source.attach(placed(load_model(checkpoint, artifact_dir)))
    return model, load_tokenizer(artifact_dir), numerics


def _original(request: Answering, tokenizer: Any) -> Original | None:
    """The uncompressed model; None where text is not held against it: a runtime and a server give
    no logits of whole windows here."""
    given = request.original
    elsewhere = request.runtime is not None or request.endpoint is not None
    compared = request.likelihood or any(one.window_tokens is not None for one in request.tasks)
    if given is None or elsewhere or not compared:
        return None
    return original_model(given.artifact_dir, given.artifact_id, given.cache_dir, tokenizer)
