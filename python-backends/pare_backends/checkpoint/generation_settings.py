"""How a model says that it is to generate: generation_config.json, as transformers takes it.

Ends of a text, penalties and distributions are the model's own; how long an answer may be, how many
there are and what else is given back is the task's, and what only makes it faster changes no token.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pare_backends.checkpoint.own_files import own_file
from pare_backends.failures import CallFailure, one_line

FILE = "generation_config.json"
BY_TASK = {
    "max_length", "max_new_tokens", "max_time", "num_return_sequences", "output_attentions",
    "output_hidden_states", "output_logits", "output_scores", "return_dict_in_generate",
    "stop_strings",
}  # fmt: skip
"""Fields that are left out: what a task asks for decides."""
FASTER = {
    "assistant_confidence_threshold", "assistant_early_exit", "assistant_ensemble_weight",
    "assistant_lookbehind", "cache_config", "cache_implementation", "compile_config",
    "continuous_batching_config", "custom_generate", "disable_compile", "is_assistant",
    "low_memory", "max_cache_len", "max_matching_ngram_size", "num_assistant_tokens",
    "num_assistant_tokens_schedule", "prefill_chunk_size", "prompt_lookup_num_tokens",
    "speculation_type", "target_lookbehind", "token_healing", "use_mtp",
}  # fmt: skip
"""Fields that are left out, as they change how a token is found and not which."""
NOTHING: Mapping[str, float] = {
    "diversity_penalty": 0.0, "encoder_no_repeat_ngram_size": 0, "encoder_repetition_penalty": 1.0,
    "length_penalty": 1.0, "min_length": 0, "no_repeat_ngram_size": 0, "num_beam_groups": 1,
    "num_beams": 1, "repetition_penalty": 1.0,
}  # fmt: skip
"""Values that say nothing."""
SILENT = {"output_attentions", "output_hidden_states", "transformers_version", "use_cache"}
"""Fields that transformers writes into every file, whatever the model."""
GREEDY_NEUTRAL = {
    "_from_model_config", "bos_token_id", "do_sample", "eos_token_id", "pad_token_id",
    "temperature", "top_k", "top_p", "transformers_version", "use_cache",
}  # fmt: skip
"""Fields that change nothing of a greedy search but where it ends; a drawn one reads those of a
distribution."""


def generation_settings(directory: str | Path) -> Any:
    """transformers' settings of a checkpoint directory without the fields that are left out; of
    config.json where there is no generation_config.json, as transformers has it.

    Raises `CallFailure` where the file cannot be read.
    """
    from transformers import GenerationConfig

    root = Path(directory)
    own = os.path.lexists(root / FILE)
    source: dict[str, Any] = {} if own else {"config_file_name": "config.json"}
    try:
        if own:
            own_file(root, root / FILE)
        found = GenerationConfig.from_pretrained(
            str(root), local_files_only=True, _from_model_config=not own, **source
        )
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise CallFailure(
            "bad_input",
            f"Cannot read {root / FILE}: {one_line(error, 200)}",
            hint="Copy it again, or delete it: config.json says how to generate then",
        ) from error
    _check_ends(found.eos_token_id, root / (FILE if own else "config.json"))
    for name in BY_TASK | FASTER:
        if hasattr(found, name):
            setattr(found, name, None)
    for name, value in NOTHING.items():
        if getattr(found, name, None) == value:
            setattr(found, name, None)
    return found


def _check_ends(said: Any, path: Path) -> None:
    ends = said if isinstance(said, list) else [said]
    if said is not None and any(type(one) is not int for one in ends):
        raise CallFailure(
            "bad_input",
            f"Cannot read {path}: its eos_token_id is neither a token's number nor a list of them:"
            f" {json.dumps(said)[:60]}",
            hint="Name the tokens that end a text by their numbers",
        )


def said_settings(settings: Any) -> dict[str, Any]:
    """What settings say beside their defaults and beside what is said of every model."""
    known = set(type(settings)().to_dict())
    return {
        name: value
        for name, value in settings.to_diff_dict().items()
        if value not in (None, False) and name in known - GREEDY_NEUTRAL
    }


def settings_notes(directory: str | Path) -> list[str]:
    """What of a model's generation_config.json is left out, or is said otherwise by its
    config.json; in words."""
    from transformers import GenerationConfig

    settings, root = generation_settings(directory), Path(directory)
    if not os.path.lexists(root / FILE):
        return []
    said = json.loads((root / FILE).read_text())
    known = set(GenerationConfig().to_dict())
    notes = []
    asked = {n: v for n, v in said.items() if n in BY_TASK - SILENT and v not in (None, False)}
    if asked:
        notes.append(f"{FILE} says {listed(asked)}, which is left out: the task decides it")
    unknown = {n: v for n, v in said.items() if n not in known | FASTER and not n.startswith("_")}
    if unknown:
        notes.append(f"{FILE} says {listed(unknown)}, which transformers does not know: left out")
    config = json.loads((root / "config.json").read_text(encoding="utf-8-sig"))
    before, ends = ids_of(config.get("eos_token_id")), ids_of(settings.eos_token_id)
    if not before <= ends:
        notes.append(
            f"config.json ends texts at {sorted(before)}, {FILE} at {sorted(ends)}: the second"
            " decides, as in transformers"
        )
    return notes


def ids_of(said: Any) -> set[int]:
    """Tokens that a field names: none, one or several."""
    return {one for one in (said if isinstance(said, list) else [said]) if type(one) is int}


def listed(fields: Mapping[str, Any]) -> str:
    """Fields with their values."""
    return ", ".join(f"{name}: {json.dumps(fields[name])[:60]}" for name in sorted(fields))
