"""Models that many tests read, written once for each of their modules."""

import gc
from pathlib import Path
from typing import Any

import pytest


def pytest_sessionstart() -> None:
    gc.disable()  # what is imported meanwhile stays


def pytest_collection_finish() -> None:
    gc.freeze()  # and no test looks through it for garbage
    gc.enable()


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of the tiny architecture with random weights."""
    from evaluation_fixtures import random_checkpoint

    return random_checkpoint(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same with a vocabulary and a context for long prompts: (model, tokenizer)."""
    from benchmark_fixtures import reading_model  # which imports lm-eval: some seconds

    return reading_model(tmp_path_factory.mktemp("reader"))
