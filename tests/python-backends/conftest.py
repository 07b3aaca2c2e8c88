"""Models that many tests read, written once for each of their modules."""

from pathlib import Path
from typing import Any

import pytest


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
