"""A checkpoint's tokenizer in a GGUF file, where llama.cpp splits text as it does.

llama.cpp has its own splitting of text into words, under names. A byte-level BPE tokenizer whose
splitting is one of those is written whole; any other file gets the size of the vocabulary alone and
takes token ids only, which is all that measuring needs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gguf import GGUFWriter, SpecialVocab, TokenType

LLAMA3_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pattern of Llama 3's tokenizer.json."""


def add_tokenizer(writer: GGUFWriter, directory: Path, vocabulary: int) -> str | None:
    """Writes the tokenizer. returns: why it could not be written whole; None where it was."""
    path = directory / "tokenizer.json"
    document = json.loads(path.read_text()) if path.exists() else {}
    splitting = splitting_of(document)
    if splitting is None:
        writer.add_tokenizer_model("no_vocab")
        return "no tokenizer in the GGUF file, token ids only: llama.cpp has no such splitting"
    tokens, kinds = token_list(document, vocabulary)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(splitting)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    SpecialVocab(directory, load_merges=True, n_vocab=vocabulary).add_to_gguf(writer, quiet=True)
    return None


def splitting_of(document: dict[str, Any]) -> str | None:
    """llama.cpp's name of a tokenizer.json's splitting into words; None where it has none."""
    model = document.get("model") or {}
    if model.get("type") != "BPE" or document.get("pre_tokenizer") is None:
        return None
    step = document["pre_tokenizer"]
    steps = step["pretokenizers"] if step.get("type") == "Sequence" else [step]
    kinds = [one.get("type") for one in steps]
    if kinds[-1:] != ["ByteLevel"] or steps[-1].get("add_prefix_space"):
        return None
    words = steps[-1].get("use_regex", True)
    if kinds == ["ByteLevel"]:
        return "gpt-2" if words else None
    if kinds == ["Digits", "ByteLevel"] and steps[0].get("individual_digits"):
        return "smollm" if words else None
    pattern = (steps[0].get("pattern") or {}).get("Regex")
    if kinds == ["Split", "ByteLevel"] and pattern == LLAMA3_WORDS and not words:
        return "llama-bpe"
    return None


def token_list(document: dict[str, Any], vocabulary: int) -> tuple[list[str], list[TokenType]]:
    """Every id's text and kind, in order; ids that nothing stands for are named and unused."""
    tokens = [f"[PAD{number}]" for number in range(vocabulary)]
    kinds = [TokenType.UNUSED] * vocabulary
    for text, number in document["model"]["vocab"].items():
        tokens[number], kinds[number] = text, TokenType.NORMAL
    for added in document.get("added_tokens", ()):
        kind = TokenType.CONTROL if added.get("special") else TokenType.USER_DEFINED
        tokens[added["id"]], kinds[added["id"]] = added["content"], kind
    return tokens, kinds
