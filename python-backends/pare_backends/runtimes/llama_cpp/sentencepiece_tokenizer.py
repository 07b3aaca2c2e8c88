"""A tokenizer that came from sentencepiece in a GGUF file, as llama.cpp's model `llama`.

transformers keeps such a tokenizer as BPE with "▁" for spaces and bytes for what no token has.
llama.cpp joins the two neighbours whose token has the best score (Kudo and Richardson 2018, BPE
of sentencepiece). transformers joins by the rank of the pair. Both find the same tokens where every
pair that makes a token is a merge and the merges of a token stand together. That is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from gguf import GGUFWriter, SpecialVocab, TokenType

SPACE = "▁"
BYTE = re.compile(r"<0x[0-9A-F]{2}>")
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
PREPEND = {"type": "Prepend", "prepend": SPACE}
SPLIT = {
    "type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False,
}  # fmt: skip
"""Gemma's, which finds nothing: no space is left where it looks."""
DECODERS = [
    {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
]
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
NAME = "Phi-3"
"""llama.cpp takes the white space behind added tokens where the model's name holds this."""
KEEP_SPACE_BEHIND = {"<unk>", "<s>", "<|endoftext|>"}
"""Phi-3's added tokens of which llama.cpp leaves the white space that follows."""
BEFORE_A_SPACE = (
    "llama.cpp puts a space before a text that begins with one, which the tokenizer does not"
)
BEHIND_CONTROL = (
    "llama.cpp puts a space behind control tokens and before a text that begins with a space,"
    " which the tokenizer does not"
)


class UnknownTokenizerError(ValueError):
    """What of a tokenizer.json llama.cpp would not compute as transformers does."""


@dataclass(frozen=True)
class Pieces:
    """Every id's token, in order."""

    texts: list[str]
    scores: list[float]  # minus the rank of the first merge that makes the token, else 0
    kinds: list[TokenType]


def add_sentencepiece_tokenizer(
    writer: GGUFWriter, directory: Path, document: dict[str, Any], vocabulary: int
) -> str | None:
    """Writes the tokenizer of `document`, a tokenizer.json with `byte_fallback`.

    returns: why it could not be written, or what llama.cpp does otherwise; None where neither is
    """
    try:
        prefix, note = space_prefix(document)
        strips = strips_behind(document)
        note = note or spelled_out(document)
        pieces = pieces_of(document, vocabulary)
    except UnknownTokenizerError as error:
        writer.add_tokenizer_model("no_vocab")
        return f"no tokenizer in the GGUF file, token ids only: {error}"
    if strips:
        writer.add_name(NAME)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(pieces.texts)
    writer.add_token_scores(pieces.scores)
    writer.add_token_types(pieces.kinds)
    writer.add_add_space_prefix(prefix)
    # llama.cpp reads no merges here. transformers does, but for Gemma's, and is slow to make them.
    others = normalizers_of(document) != [REPLACE]
    special = SpecialVocab(directory, load_merges=others, n_vocab=vocabulary)
    # Where the file says nothing llama.cpp begins with <s>; transformers begins with nothing.
    special.add_special_token.setdefault("bos", False)
    special.add_to_gguf(writer, quiet=True)
    return note


def space_prefix(document: dict[str, Any]) -> tuple[bool, str | None]:
    """Whether a space comes before a text, and what llama.cpp does otherwise with it.

    raises: UnknownTokenizerError, where spaces become "▁" in no way known here
    """
    model = document["model"]
    known = ("type", "unk_token", "fuse_unk", "byte_fallback", "vocab", "merges")
    unknown = [key for key, value in model.items() if key not in known and value]
    if unknown:
        raise UnknownTokenizerError(f"llama.cpp has no {unknown[0]} of a sentencepiece model")
    decoder = document.get("decoder") or {}
    if decoder.get("decoders") not in (DECODERS, [*DECODERS, STRIP]):
        raise UnknownTokenizerError("its decoder is none of sentencepiece's that are known here")
    normalizers, step = normalizers_of(document), document.get("pre_tokenizer")
    if normalizers == [REPLACE] and step in (None, SPLIT):
        return False, None
    if normalizers == [PREPEND, REPLACE] and step is None:
        return True, None
    metaspace = {"type": "Metaspace", "replacement": SPACE}
    if not normalizers and step is not None and step.items() >= metaspace.items():
        whole = step.get("split") is False
        inside = (token for token in model["vocab"] if SPACE in token[1:])
        if not whole and any(inside):
            raise UnknownTokenizerError("it splits at spaces that tokens hold")
        scheme = step.get("prepend_scheme")
        if scheme in ("always", "first", "never"):
            notes = {"always": BEFORE_A_SPACE, "first": BEHIND_CONTROL, "never": None}
            return scheme != "never", notes[scheme]
    raise UnknownTokenizerError("its normalizer and pre_tokenizer are none that are known here")


def normalizers_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """What is done to a text first, in order."""
    whole = document.get("normalizer")
    if whole is None:
        return []
    return list(whole["normalizers"]) if whole.get("type") == "Sequence" else [whole]


def strips_behind(document: dict[str, Any]) -> bool:
    """Whether its added tokens take the white space behind them, as Phi-3's.

    raises: UnknownTokenizerError, where added tokens are found in a way that llama.cpp has not
    """
    added = document.get("added_tokens") or []
    for one in added:
        if one.get("single_word") or one.get("lstrip"):
            raise UnknownTokenizerError(
                f"llama.cpp does not look for {one['content']!r} in a text as the tokenizer does"
            )
    stripped = {one["content"] for one in added if one.get("rstrip")}
    known = {one["content"] for one in added}
    # llama.cpp reads no file of that name without these.
    named = known.issuperset({"</s>", *KEEP_SPACE_BEHIND})
    if stripped and not (named and stripped == known - KEEP_SPACE_BEHIND):
        raise UnknownTokenizerError(
            f"white space behind {min(stripped)!r} is left out, which llama.cpp has of Phi-3 alone"
        )
    return bool(stripped)


def spelled_out(document: dict[str, Any]) -> str | None:
    """What llama.cpp does otherwise with added tokens that are looked for in the normalized text.

    Where "▁" is prepended to a text it is to these too (LLaMA 1's): transformers finds them behind
    a space alone.
    """
    added = document.get("added_tokens") or []
    found = sorted(one["content"] for one in added if one.get("normalized"))
    if not (found and PREPEND in normalizers_of(document)):
        return None
    return (
        f"llama.cpp finds {found[0]} everywhere in a text, the tokenizer where a space stands"
        f" before it ({len(found)} such tokens)"
    )


def pieces_of(document: dict[str, Any], vocabulary: int) -> Pieces:
    """Tokens with scores and kinds; ids that nothing stands for are named and unused.

    vocabulary: ids of the model; added tokens beyond are left out, as no weights stand for them.
    raises: UnknownTokenizerError, where the merges are none of a sentencepiece model's
    """
    model = document["model"]
    pairs = merge_pairs(model["merges"])
    ranks = first_ranks(pairs)
    texts = [f"[PAD{number}]" for number in range(vocabulary)]
    kinds = [TokenType.UNUSED] * vocabulary
    scores = [0.0] * vocabulary
    entries = dict(model["vocab"])
    added = {one["content"]: one for one in document.get("added_tokens") or ()}
    entries.update({text: int(one["id"]) for text, one in added.items()})
    for text, number in entries.items():
        if number >= vocabulary:
            continue
        kind = kind_of(text, added.get(text), model.get("unk_token"))
        # llama.cpp looks for the tokens of the file's author in the text as it came.
        raw = kind == TokenType.USER_DEFINED
        texts[number], kinds[number] = text.replace(SPACE, " ") if raw else text, kind
        scores[number] = -float(ranks.get(text, 0))
    if len({text for text in texts if BYTE.fullmatch(text)}) != 256:
        raise UnknownTokenizerError("it has no token of some byte")
    joined = (TokenType.NORMAL, TokenType.BYTE)
    made = {text for text, number in entries.items() if number < vocabulary} & {
        text for text, kind in zip(texts, kinds, strict=True) if kind in joined
    }
    check_merges(made, pairs)
    return Pieces(texts, scores, kinds)


def kind_of(text: str, added: dict[str, Any] | None, unknown: str | None) -> TokenType:
    """A token's kind, by its entry among added_tokens."""
    if text == unknown:
        return TokenType.UNKNOWN
    if BYTE.fullmatch(text):
        return TokenType.BYTE
    if added is None:
        return TokenType.NORMAL
    if added.get("special"):
        return TokenType.CONTROL
    # Gemma's runs of "▁" are looked for as they stand, so that spaces become one by merges alone.
    # As USER_DEFINED llama.cpp would write out "▁". So a text's own "▁▁" joins spaces beside it.
    merged = SPACE in text and not added.get("normalized")
    return TokenType.NORMAL if merged else TokenType.USER_DEFINED


def merge_pairs(merges: list[Any]) -> list[tuple[str, str]]:
    """The merges in order; older files have the two tokens in one string."""
    pairs = [one.split(" ") if isinstance(one, str) else one for one in merges]
    if any(len(pair) != 2 for pair in pairs):
        raise UnknownTokenizerError("its merges are no pairs")
    return [(left, right) for left, right in pairs]


def first_ranks(pairs: list[tuple[str, str]]) -> dict[str, int]:
    """The rank of the first merge that makes a token, by token."""
    ranks: dict[str, int] = {}
    for rank, (left, right) in enumerate(pairs):
        ranks.setdefault(left + right, rank)
    return ranks


def check_merges(made: Iterable[str], pairs: list[tuple[str, str]]) -> None:
    """Looks whether the best score finds what the merges find.

    made: the tokens that are made of others. Tokens that a text is split at first are none.
    raises: UnknownTokenizerError, where a pair makes a token without a merge, or where the merges
    of two tokens alternate. Those of runs of one character may, where the longest are first: then
    scores have the runs in the same order.
    """
    known, whole = set(pairs), set(made)
    for token in whole:
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if (left, right) in known or not (is_made(left, whole) and is_made(right, whole)):
                continue
            raise UnknownTokenizerError(f"{left!r} and {right!r} make a token without a merge")
    runs: dict[str, list[tuple[int, int]]] = {}
    groups: set[str] = set()
    for token, _ in groupby(left + right for left, right in pairs):
        if token in groups and token in whole and len(set(token)) > 1:
            raise UnknownTokenizerError(f"its merges of {token!r} do not stand together")
        groups.add(token)
    for left, right in pairs:
        if left + right in whole and len(set(left + right)) == 1:
            runs.setdefault(left[0], []).append((len(left), len(right)))
    for character, lengths in runs.items():
        apart = len(list(groupby(sum(pair) for pair in lengths)))
        if apart != len({sum(pair) for pair in lengths}) and lengths != sorted(lengths)[::-1]:
            raise UnknownTokenizerError(f"its merges of runs of {character!r} alternate")


def is_made(part: str, whole: set[str]) -> bool:
    """Whether llama.cpp can have this part: a token, or a character that may be none."""
    return len(part) == 1 or part in whole
