"""A checkpoint's tokenizer in a GGUF file, where llama.cpp splits text as it does.

llama.cpp has its own splitting of text into words, under names. A byte-level BPE tokenizer whose
splitting is one of those is written whole, and so is one that came from sentencepiece; any other
file gets the size of the vocabulary alone and takes token ids only, which is all that measuring
needs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gguf import GGUFWriter, SpecialVocab, TokenType

from pare_backends.models.gguf.splittings import BY_CASE, composes, splitting_of
from pare_backends.runtimes.llama_cpp.sentencepiece_tokenizer import add_sentencepiece_tokenizer

NOT_WRITTEN = "no tokenizer in the GGUF file, token ids only: llama.cpp has no such splitting"
OTHER_CASES = (
    "llama.cpp splits words by the case of A to Z alone and knows no marks of letters, the model's"
    " tokenizer does: words in other capitals, or of Hindi or Thai, may be other tokens"
)
NOT_COMPOSED = (
    "llama.cpp leaves letters and marks that a text has apart as they are, the model's tokenizer"
    " writes them as one (NFC)"
)


def add_tokenizer(writer: GGUFWriter, directory: Path, vocabulary: int) -> str | None:
    """Writes the tokenizer. returns: why it could not be written, or what llama.cpp does otherwise;
    None: neither"""
    path = directory / "tokenizer.json"
    document = json.loads(path.read_text()) if path.exists() else {}
    splitting, composed = splitting_of(document), composes(document)
    # transformers says byte_fallback of any tokenizer that it read out of a GGUF file, too.
    if splitting is None and (document.get("model") or {}).get("byte_fallback"):
        return add_sentencepiece_tokenizer(writer, directory, document, vocabulary)
    if splitting is None or composed is None:
        writer.add_tokenizer_model("no_vocab")
        return NOT_WRITTEN
    tokens, kinds = token_list(document, vocabulary)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(splitting)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    special = SpecialVocab(directory, load_merges=True, n_vocab=vocabulary)
    for mark in ("bos", "eos"):  # else llama.cpp has them as the splitting's first model
        special.add_special_token.setdefault(mark, False)
    special.add_to_gguf(writer, quiet=True)
    if splitting in BY_CASE:
        return OTHER_CASES
    return NOT_COMPOSED if composed else None


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
