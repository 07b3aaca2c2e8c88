"""The families that a rule may name are those that the pinned transformers loads."""

from __future__ import annotations

from pathlib import Path

import yaml

FILE = Path(__file__).parents[2] / "plugins" / "search" / "model_families.yaml"


def test_the_families_are_the_causal_language_models_of_transformers() -> None:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    assert yaml.safe_load(FILE.read_text()) == sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
