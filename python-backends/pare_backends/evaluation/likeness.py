"""Whether text that methods work on is much like the text that is evaluated: by its letters, and by
how many tokens it falls into. No model is run.

A tokenizer with an unknown token tells a language that it does not know; one of bytes has tokens
for every text, and falls back to a byte or two each. A language of the same letters that the
tokenizer knows as well passes: its text is taken without a word.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pare_backends.evaluation.overlap import texts_of
from pare_backends.evaluation.tasks.records import Row

READ = 200_000
"""Characters of each text that are looked through, and of these so many that are looked at."""
SLICES, SLICE = 8, 5_000
FEWEST_LETTERS = 200
SHARED_LETTERS = 0.5
"""Share of letters of the same scripts below which two texts are of two languages."""
MORE_TOKENS = 1.6
"""Times the tokens a byte from which on a tokenizer knows a text less. SmolLM2's takes 0.19 to 0.24
for English prose and 0.27 for code, 0.35 to 0.51 for French, Spanish, German, Turkish and Polish,
0.40 to 0.63 for Russian, Hindi, Arabic, Japanese and Chinese (a few sentences each); of sums in
figures 0.39 to 0.59, so that other kinds of text are told too."""
MORE_UNKNOWN = 0.2
"""Share of unknown tokens beyond that of the evaluated text from which on it is said."""


@dataclass(frozen=True)
class Look:
    """What is seen of a text."""

    scripts: Mapping[str, float]  # share of the letters; empty where there are few
    tokens_per_byte: float
    unknown: float  # share of its tokens


def unlike(
    name: str, texts: Sequence[str], evaluated: Mapping[str, Iterable[Row]], tokenizer: Any
) -> str | None:
    """Why a text looks like another language than what is evaluated, as a sentence; None: it does
    not. name: of the text; evaluated: rows by task"""
    own = look(texts, tokenizer)
    for task, rows in evaluated.items():
        other = look((text for row in rows for text in texts_of(row)), tokenizer)
        why = difference(own, other, name, task)
        if why is not None:
            return f"{name} may be in another language than {task}, or of another kind: {why}"
    return None


def difference(own: Look | None, other: Look | None, name: str, task: str) -> str | None:
    """What tells two texts apart, as a clause."""
    if own is None or other is None:
        return None
    if own.scripts and other.scripts:
        shared = sum(min(share, other.scripts.get(one, 0)) for one, share in own.scripts.items())
        if shared < SHARED_LETTERS:
            return f"its letters are {most(own)}, those of {task} {most(other)}"
    if own.unknown > other.unknown + MORE_UNKNOWN:
        return (
            f"the tokenizer does not know {own.unknown:.0%} of its words, and {other.unknown:.0%}"
            f" of those of {task}"
        )
    if own.tokens_per_byte > MORE_TOKENS * other.tokens_per_byte:
        return (
            f"the tokenizer takes {100 * own.tokens_per_byte:.0f} tokens for 100 bytes of it, and"
            f" {100 * other.tokens_per_byte:.0f} of {task}"
        )
    return None


def look(texts: Iterable[str], tokenizer: Any) -> Look | None:
    """What is seen of some of these texts; None: they are empty."""
    text = sample(texts)
    tokens = tokenizer.encode(text, add_special_tokens=False)
    if not tokens:
        return None
    letters = Counter(script(one) for one in text if one.isalpha())
    count = sum(letters.values())
    scripts = {one: n / count for one, n in letters.items()} if count >= FEWEST_LETTERS else {}
    unknown = getattr(tokenizer, "unk_token_id", None)
    return Look(
        scripts,
        len(tokens) / len(text.encode()),
        0.0 if unknown is None else tokens.count(unknown) / len(tokens),
    )


def sample(texts: Iterable[str]) -> str:
    """Parts of the texts, evenly over as much as is looked through."""
    parts: list[str] = []
    read = 0
    for text in texts:
        if read >= READ:
            break
        parts.append(text[: READ - read])
        read += len(parts[-1])
    whole = "\n".join(parts)
    if len(whole) <= SLICES * SLICE:
        return whole
    starts = (n * (len(whole) - SLICE) // (SLICES - 1) for n in range(SLICES))
    return "\n".join(whole[start : start + SLICE] for start in starts)


def script(letter: str) -> str:
    """The first word of a letter's name in Unicode: LATIN, CYRILLIC, CJK, …"""
    return unicodedata.name(letter, "unnamed").split(" ")[0]


def most(seen: Look) -> str:
    """The script of most letters, with its share."""
    name, share = max(seen.scripts.items(), key=lambda one: one[1])
    return f"{share:.0%} {name}"
