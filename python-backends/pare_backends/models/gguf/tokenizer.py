"""What a GGUF file says of its tokenizer and transformers passes over: how text is cut into words,
and whether a text begins with its mark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pare_backends.models.gguf.splittings import NAMES

PLAIN = ("gpt-2", "default")
OTHER_NAMES = {
    "llama3": "llama-bpe",
    "llama-v3": "llama-bpe",
    "dbrx": "llama-bpe",
    "smaug-bpe": "llama-bpe",
}
"""What names the same cutting as another."""
OF_CLASS = ("qwen2", "qwen35", "falcon", "gemma4")
"""Cuttings that transformers' own class of the architecture makes."""


def settle_tokenizer(tokenizer: Any, keys: Mapping[str, Any]) -> list[str]:
    """Makes a byte-level tokenizer that was read of a file cut and mark texts as the file says.

    keys: of the file; returns: what it says and is left out, in words
    """
    add_marks(tokenizer, keys)
    named = keys.get("tokenizer.ggml.pre")
    if keys.get("tokenizer.ggml.model") != "gpt2" or named is None:
        return []
    cuttings = _cuttings()
    if named in cuttings:
        tokenizer.backend_tokenizer.pre_tokenizer = cuttings[named]()
        return []
    if named in (*PLAIN, *OF_CLASS):
        return []
    return [
        f"Text is cut into words as the tokenizer class of its architecture does: its GGUF file"
        f" says {named} (tokenizer.ggml.pre), which is not read"
    ]


def _cuttings() -> dict[str, Callable[[], Any]]:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence, Split

    def digits() -> Any:
        return Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])

    def words(patterns: tuple[str, ...]) -> Callable[[], Any]:
        def made() -> Any:
            splits = [Split(Regex(one), "isolated") for one in patterns]
            return Sequence([*splits, ByteLevel(add_prefix_space=False, use_regex=False)])

        return made

    known = {name: words(patterns) for patterns, name in NAMES.items()}
    return {
        "smollm": digits,
        **known,
        **{other: known[name] for other, name in OTHER_NAMES.items()},
    }


def add_marks(tokenizer: Any, keys: Mapping[str, Any]) -> None:
    """Puts the beginning and the end of a text where the file says that they are added."""
    from tokenizers.processors import TemplateProcessing

    marks = []
    for name in ("bos", "eos"):
        mark = keys.get(f"tokenizer.ggml.{name}_token_id")
        added = keys.get(f"tokenizer.ggml.add_{name}_token")
        marks.append(int(mark) if added and mark is not None else None)
    ids = tokenizer("a").input_ids
    missing = [mark is not None and mark not in ids for mark in marks]
    if not any(missing):
        return
    first, last = (
        [] if mark is None else [tokenizer.convert_ids_to_tokens(mark)] for mark in marks
    )
    special = [(token, tokenizer.convert_tokens_to_ids(token)) for token in (*first, *last)]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=[*first, "$A", *last],
        pair=[*first, "$A", *last, *(f"{token}:1" for token in first), "$B:1", *last],
        special_tokens=list(dict.fromkeys(special)),
    )
