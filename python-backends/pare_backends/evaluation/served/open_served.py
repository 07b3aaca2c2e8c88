"""A model behind an OpenAI-compatible server, made ready to be evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.served.account import account_of_environment
from pare_backends.evaluation.served.client import ServedClient
from pare_backends.evaluation.served.endpoint import Endpoint, key_of_environment
from pare_backends.evaluation.served.model import ServedLM
from pare_backends.evaluation.served.patience import Patience
from pare_backends.failures import CallFailure
from pare_backends.progress import Report


def served_model(
    endpoint: Endpoint,
    answers_path: Path | None,
    report: Report,
    patience: Patience | None = None,
) -> tuple[ServedLM, Any]:
    """The model and its tokenizer, which is None where the user gave none. Its answers are kept by
    endpoint, model, prompt and decoding, for the study that asked."""
    tokenizer = _tokenizer(endpoint.tokenizer_dir)
    variable = endpoint.key_variable
    key = key_of_environment(variable)
    account = account_of_environment()
    client = ServedClient(endpoint, key, patience, variable, report.waiting, account)
    _ = client.model  # asks the server where nobody named one: it is the first to be down
    return ServedLM(client, tokenizer, report, Answers(answers_path)), tokenizer


def _tokenizer(directory: str | None) -> Any:
    if directory is None:
        return None
    from pare_backends.checkpoint.load import load_tokenizer

    try:
        return load_tokenizer(directory)
    except (OSError, ValueError) as error:
        raise CallFailure(
            "bad_input",
            f"Cannot read a tokenizer from {directory}: {' '.join(str(error).split())[:160]}",
            hint="Name a folder with tokenizer.json by --tokenizer",
        ) from error
