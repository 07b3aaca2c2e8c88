"""What a server computes with: one sequence at a time, in torch or in a runtime. V: vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pare_backends.checkpoint.generation_settings import ids_of, listed, said_settings
from pare_backends.checkpoint.reading_on import read_on
from pare_backends.failures import CallFailure
from pare_backends.runtimes.registry import add_runtime, open_model
from pare_backends.runtimes.runtime_model import RuntimeModel

TRANSFORMERS = "transformers"
"""The runtime that loads a checkpoint itself, dequantized to float32."""


class Reader(Protocol):
    """Logits of one sequence, which is read anew or appended to."""

    refuses_texts: str | None
    """Why a given text has no log-probabilities here; None: it has."""

    def whole(self, tokens: np.ndarray) -> np.ndarray:
        """Logits after each token of a text (T,) int64. returns: (T, V) float32"""
        ...

    def begin(self, tokens: np.ndarray) -> np.ndarray:
        """Begins the sequence anew. tokens: (T,) int64; returns: (V,) float32, after the last"""
        ...

    def extend(self, tokens: np.ndarray) -> np.ndarray:
        """Appends to the sequence. tokens: (T,) int64; returns: (V,) float32, after the last"""
        ...


class TorchReader:
    """A torch model, with the setting that it runs with."""

    def __init__(self, model: Any) -> None:
        import torch

        from pare_backends.cache.policy import chooses_by_content, policy_of

        self._torch, self._model, self._cache = torch, model, None
        policy = policy_of(model)
        self._by_content = policy is not None and chooses_by_content(model)
        self.refuses_texts: str | None = None
        if policy is not None and self._by_content:
            self.refuses_texts = (
                f"{policy.words()} are kept, and what is kept depends on what was read"
            )

    def whole(self, tokens: np.ndarray) -> np.ndarray:
        with self._torch.inference_mode():
            output = self._model(self._ids(tokens), use_cache=False)
        return np.asarray(output.logits[0].float().cpu().numpy())

    def begin(self, tokens: np.ndarray) -> np.ndarray:
        self._cache = None
        if not self._by_content:
            return self.extend(tokens)
        from pare_backends.cache.reading import read_context

        with self._torch.inference_mode():  # as an evaluation cuts it: before the last token
            self._cache = read_context(self._model, self._ids(tokens[:-1]))
        return self.extend(tokens[-1:])

    def extend(self, tokens: np.ndarray) -> np.ndarray:
        with self._torch.inference_mode():
            logits, self._cache = read_on(self._model, self._ids(tokens), self._cache)
        return np.asarray(logits[0].float().cpu().numpy())

    def _ids(self, tokens: np.ndarray) -> Any:
        return self._torch.from_numpy(tokens)[None].to(self._model.device)


class RuntimeReader:
    """An artifact in a runtime that makes a form of it."""

    refuses_texts: str | None = None

    def __init__(self, model: RuntimeModel) -> None:
        self._model = model

    def whole(self, tokens: np.ndarray) -> np.ndarray:
        import torch

        return np.asarray(self._model.forward(torch.from_numpy(tokens)[None]).logits[0].numpy())

    def begin(self, tokens: np.ndarray) -> np.ndarray:
        return self._model.begin(tokens)

    def extend(self, tokens: np.ndarray) -> np.ndarray:
        return self._model.extend(tokens)


@dataclass(frozen=True)
class Served:
    """An artifact that is open."""

    name: str
    """By which it is asked for."""
    reader: Reader
    tokenizer: Any
    longest: int
    """Tokens of a prompt and its answer together, at most."""
    ends: frozenset[int]
    """Tokens that end a text."""
    repetition_penalty: float
    """Of the model's own generation_config.json; 1: none."""
    numerics: str
    """What computes it, in words."""


@dataclass(frozen=True)
class Opening:
    """What is to be served, and by what."""

    artifact_dir: str
    weights_dir: str | None
    """Of a setting: where its weights lie."""
    runtime: str
    form_dir: str | None
    """What `make_form` made for the runtime; None: it loads the checkpoint itself."""
    python: str
    """The interpreter of the runtime's environment."""
    runtime_dir: str | None
    threads: int
    name: str
    longest: int | None
    """None: the model's own context."""


def open_served(asked: Opening) -> Served:
    """Loads the artifact. Raises `CallFailure` where it cannot be served so."""
    from pare_backends.checkpoint.load import load_tokenizer
    from pare_backends.checkpoint.setting import source_of

    source = source_of(asked.artifact_dir, asked.weights_dir)
    tokenizer = load_tokenizer(source.weights_dir)
    if asked.form_dir is None:
        from pare_backends.checkpoint import read
        from pare_backends.checkpoint.load import load_model

        torch_model = load_model(read(source.weights_dir), source.weights_dir)
        model: Any = source.attach(torch_model)
        reader: Reader = TorchReader(model)
        numerics = "weights dequantized to float32, in torch"
        if source.setting is not None:
            numerics += f", with {source.setting.label()}"
    else:
        if source.setting is not None:
            raise CallFailure(
                "bad_input",
                f"Cannot serve {source.setting.label()} in {asked.runtime}: a setting is known in"
                " transformers alone",
                hint="Serve it --with transformers",
            )
        add_runtime(asked.runtime, asked.runtime_dir)
        place, form = source.weights_dir, asked.form_dir
        model = open_model(asked.runtime, place, form, asked.python, asked.threads)
        reader = RuntimeReader(model)
        numerics = ", ".join(f"{name} {value}" for name, value in model.numerics.items())
    ends, penalty = _decoding(asked.name, model.generation_config)
    longest = _longest(asked, model.config)
    return Served(asked.name, reader, tokenizer, longest, ends, penalty, numerics)


def _decoding(name: str, settings: Any) -> tuple[frozenset[int], float]:
    """What ends a text, and the penalty on repetition; other settings are not made here."""
    said = said_settings(settings)
    penalty = said.pop("repetition_penalty", None)
    if said:
        raise CallFailure(
            "bad_input",
            f"Cannot serve {name}: the model's generation_config.json says {listed(said)}, and this"
            " server knows no such decoding",
            hint="Take it out of that file",
        )
    return frozenset(ids_of(settings.eos_token_id)), 1.0 if penalty is None else float(penalty)


def _longest(asked: Opening, config: Any) -> int:
    """The context that is served: the model's own, or less."""
    own = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if asked.longest is None:
        return int(own or 2048)
    if own is not None and asked.longest > int(own):
        raise CallFailure(
            "bad_input",
            f"Cannot serve {asked.name} with {asked.longest} tokens of context: its own is {own}",
            hint=f"Ask for --max-model-len {own} at most",
        )
    return asked.longest
