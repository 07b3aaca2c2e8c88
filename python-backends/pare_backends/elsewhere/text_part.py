"""The part that reads text of a model that also sees or hears: a causal language model of its own.

Gemma 3 and 4, Mistral Small 3, Ministral 3, Llama 4 and Qwen's VL come as such models. pare
compresses and measures text, so their towers and projectors are left out, as llama.cpp's converter
leaves them out of its file of the language model.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.empty_model import load_config, trusts_remote_code
from pare_backends.checkpoint.files import kept_dtype, tensor_entries, weight_files
from pare_backends.checkpoint.forms.floats import BFLOAT16
from pare_backends.checkpoint.stored import DTYPES, Entry, check_dtype
from pare_backends.elsewhere.given import Given
from pare_backends.elsewhere.written import Converted, write_original
from pare_backends.failures import CallFailure
from pare_backends.models.checks import check_adapter, check_config, read_config, read_entries
from pare_backends.progress import Report

SAME_ON_TEXT = {
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe_text": "qwen3_moe",
}
"""model_type of text parts without a causal class of their own, and what computes the same: their
rotations have three positions, which are one where nothing is seen (transformers, `get_rope_index`
of each)."""
OF_PICTURES = ("mrope_section", "mrope_interleaved", "type")
"""What a rotation says of the three; `type` is its older name of `rope_type`, such as mrope."""
INSIDE = re.compile(r"(?:model\.)?(?:language_model|text_model)\.(?:model\.)?(?P<own>.+)")
"""Names of the text part's tensors, of whichever version of transformers."""
OUTSIDE = re.compile(
    r"(?:model\.)?(?:visual|vision|audio|multi_modal|multimodal|mm_|embed_vision|embed_audio|mtp\.)"
)
HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"
TOKENS = ("bos_token_id", "eos_token_id", "pad_token_id")


def text_config(directory: Path) -> Any | None:
    """transformers' configuration of the causal language model inside; None: the directory holds
    no model of several parts, or one whose text part has no class."""
    try:
        whole = load_config(directory)
        text = whole.get_text_config()
    except Exception:  # transformers' checks raise a dozen types; who reads it next says why
        return None
    # A class that knows no text_config has one as the plain object that it was in the file.
    if text is whole or isinstance(text, dict) or getattr(whole, "is_encoder_decoder", False):
        return None
    kind = SAME_ON_TEXT.get(text.model_type, text.model_type)
    return _causal_config(kind, whole, text)


def _causal_config(kind: str, whole: Any, text: Any) -> Any | None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    causal = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind)
    if not isinstance(causal, str) or not causal.endswith("ForCausalLM"):
        return None
    said = {key: value for key, value in text.to_dict().items() if key != "model_type"}
    rope = said.get("rope_parameters")
    if kind != text.model_type and isinstance(rope, dict):
        plain = {key: value for key, value in rope.items() if key not in OF_PICTURES}
        named = rope.get("rope_type", rope.get("type"))
        kind_of_rope = "default" if named in (None, "mrope") else named
        said["rope_parameters"] = {**plain, "rope_type": kind_of_rope}
    for key in TOKENS:
        if said.get(key) is None:
            said[key] = getattr(whole, key, None)
    made = CONFIG_MAPPING[kind](**said)
    made.architectures = [causal]
    return made


def text_names(names: Collection[str]) -> dict[str, str]:
    """The text part's tensors: as the causal language model calls them, by their names in files."""
    inside = {name: found["own"] for name in names if (found := INSIDE.fullmatch(name))}
    if not inside:  # Qwen2.5-VL's files, and others of before, name the text part as a model is
        inside = {
            name: name.removeprefix("model.")
            for name in names
            if name.startswith("model.") and not OUTSIDE.match(name)
        }
    heads = {name: name for name in names if name.split(".", 1)[0] == "lm_head"}
    return {
        **{
            name: own if own.split(".", 1)[0] == "lm_head" else f"model.{own}"
            for name, own in inside.items()
        },
        **heads,
    }


def said_config(config: Any, names: Collection[str], dtype: str) -> dict[str, Any]:
    """config.json of the text part. names: its tensors'; without a head the embedding is one"""
    from transformers import PretrainedConfig

    usual: Mapping[str, Any] = PretrainedConfig().to_dict()
    told: Mapping[str, Any] = config.to_dict()
    left_out = ("quantization_config", "torch_dtype", "transformers_version", "auto_map")
    own = {k: v for k, v in told.items() if k not in usual or v != usual[k]}
    return {
        **{key: value for key, value in own.items() if key not in left_out},
        "architectures": list(config.architectures),
        "tie_word_embeddings": is_tied(names),
        "dtype": dtype,
    }


def write_text_part(directory: Path, config: Any, output: Path, report: Report) -> Converted:
    """Writes the causal language model inside, its weights as they are. config: its own

    returns: the type of its weights, and what a user must know
    """
    check_config(directory, read_config(directory), trusts_remote_code(), packed=True)
    check_adapter(directory)  # which would be left out with all that reads no text
    entries = read_entries(directory)
    names = text_names(entries)
    if EMBEDDING not in names.values():
        raise CallFailure(
            "bad_input",
            f"Cannot use {directory}: it also reads what is no text, and no tensor of its files has"
            f" a name that is known of the {config.architectures[0]} inside",
            hint="Give a checkpoint of the language model alone",
        )
    if is_copy(entries, names):
        names.pop(HEAD)
    dtype = kept_dtype(read_config(directory), {name: entries[name] for name in names})

    def tensors() -> Iterator[tuple[str, np.ndarray]]:
        for done, (name, own) in enumerate(names.items(), start=1):
            yield own, as_stored(name, entries[name])
            report.progress("take out the language model", done, len(names), "tensors")

    write_original(directory, output, tensors(), said_config(config, names.values(), dtype))
    whole, kept = (sum(entries[name].values for name in some) for some in (entries, names))
    return dtype, [left_out_note(config, f"{(whole - kept) / whole:.1%} of its values are")]


def text_bytes(directory: Path) -> int:
    """Bytes of the text part's tensors as the files hold them, packed or not."""
    entries = tensor_entries(weight_files(directory))
    return sum(entries[name].end - entries[name].start for name in text_names(entries))


def is_copy(entries: Mapping[str, Entry], names: Mapping[str, str]) -> bool:
    """Whether a head of the files is the embedding, stored twice."""
    embedding = next((name for name, own in names.items() if own == EMBEDDING), None)
    if HEAD not in names or embedding is None or entries[HEAD].shape != entries[embedding].shape:
        return False
    return np.array_equal(as_stored(HEAD, entries[HEAD]), as_stored(HEAD, entries[embedding]))


def as_stored(name: str, entry: Entry) -> np.ndarray:
    """A tensor's values in the type in which the file holds them."""
    check_dtype(name, entry)
    if entry.values == 0:  # which no file can be mapped for
        return np.zeros(entry.shape, DTYPES[entry.dtype])
    held: np.ndarray = np.memmap(
        entry.path, DTYPES[entry.dtype], "r", offset=entry.start, shape=(entry.values,)
    )
    held = held.view(BFLOAT16) if entry.dtype == "BF16" else held
    return held.reshape(entry.shape)


def left_out_note(config: Any, what: str) -> str:
    """What a user must know. what: of the model is left out, in words"""
    return (
        f"It also reads what is no text: {what} left out. Compressed and measured is the"
        f" {config.architectures[0]} inside"
    )


def with_text_part(given: Given, config: Any) -> Given:
    """A checkpoint made elsewhere without what reads no text. config: of its text part"""
    names = text_names(given.tensors)
    kept = {own: given.tensors[name] for name, own in names.items()}
    left = len(given.tensors) - len(kept)
    head, first = (kept[one].read() if one in kept else None for one in (HEAD, EMBEDDING))
    arrays = isinstance(head, np.ndarray) and isinstance(first, np.ndarray)
    if arrays and np.array_equal(np.asarray(head), np.asarray(first)):
        kept.pop(HEAD)
    config.tie_word_embeddings = is_tied(kept)
    note = left_out_note(config, f"{left} tensors are")
    return replace(given, config=config, tensors=kept, notes=(*given.notes, note))


def is_tied(names: Collection[str]) -> bool:
    """Whether the embedding is the head, as there is none. names: a head's is a layer's where it is
    packed"""
    return not {HEAD, HEAD.removesuffix(".weight")} & set(names)
