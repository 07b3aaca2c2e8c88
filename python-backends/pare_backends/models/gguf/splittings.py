"""How byte-level tokenizers split a text into words, and llama.cpp's names of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ENDS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
PLAIN = ENDS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
THREE_DIGITS = r"\p{N}{1,3}"
LLAMA3_WORDS = PLAIN + THREE_DIGITS + REST
"""Llama 3's, GLM 4's, OLMo 2's and many others'."""
QWEN2_WORDS = PLAIN + r"\p{N}" + REST
"""Qwen 2, 2.5 and 3, StableLM 2: digits one by one."""
QWEN35_WORDS = (
    ENDS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CASES = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+", rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*")
TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEKKEN_WORDS = f"{CASES[0]}|{CASES[1]}|" + r"\p{N}" + TAIL
"""Mistral's since Nemo."""
O200K_WORDS = f"{CASES[0]}{ENDS}?|{CASES[1]}{ENDS}?|" + THREE_DIGITS + TAIL
"""gpt-oss', Phi-4-mini's, Llama 4's."""
DEEPSEEK3_WORDS = (
    THREE_DIGITS,
    "[一-龥\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
"""DeepSeek V3 and R1, three steps."""
NAMES: Mapping[tuple[str, ...], str] = {
    (LLAMA3_WORDS,): "llama-bpe",
    (QWEN2_WORDS,): "qwen2",
    (QWEN35_WORDS,): "qwen35",
    (TEKKEN_WORDS,): "tekken",
    (O200K_WORDS,): "gpt-4o",
    DEEPSEEK3_WORDS: "deepseek-v3",
}
BY_CASE = ("tekken", "gpt-4o")
"""Which split by case: llama.cpp knows that of A to Z alone, and no marks of letters, so that
ŒUVRE becomes two words, and so does a letter that has its accent apart."""
WHOLE_WORDS_FIRST = ("llama-bpe", "tekken")
"""By which llama.cpp takes a word that is a token whole, whatever merges make of it."""
WITHOUT: Mapping[str, str] = {"llama-bpe": "dbrx"}
"""The same splitting where merges decide about every word."""


def splitting_of(document: Mapping[str, Any]) -> str | None:
    """llama.cpp's name of a tokenizer.json's splitting into words; None where it has none."""
    model = document.get("model") or {}
    if model.get("type") != "BPE" or document.get("pre_tokenizer") is None:
        return None
    *steps, last = steps_of(document["pre_tokenizer"])
    if last.get("type") != "ByteLevel" or last.get("add_prefix_space"):
        return None
    # Byte-level splitting has a pattern of its own unless it is told otherwise.
    by_bytes = last.get("use_regex", True)
    kinds = [one.get("type") for one in steps]
    if by_bytes:
        if kinds == ["Digits"] and steps[0].get("individual_digits"):
            return "smollm"
        return "gpt-2" if not kinds else None
    words = [pattern_of(one) for one in steps]
    name = None if None in words else NAMES.get(tuple(str(one) for one in words))
    takes_whole = bool(model.get("ignore_merges"))
    if name is None or takes_whole == (name in WHOLE_WORDS_FIRST):
        return name
    return None if takes_whole else WITHOUT.get(name)


def steps_of(step: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The steps of a pre_tokenizer, in their order."""
    if step.get("type") != "Sequence":
        return [step]
    return list(step["pretokenizers"])


def pattern_of(step: Mapping[str, Any]) -> str | None:
    """What a step finds, each of which is a word; None: it is none of that kind. Where what it does
    not find is taken out, it must find everything, as these patterns do."""
    if step.get("type") != "Split":
        return None
    said = (step.get("pattern") or {}).get("Regex")
    # DeepSeek's file has ends of lines themselves in its sets of letters.
    found = said.replace("\r", "\\r").replace("\n", "\\n") if isinstance(said, str) else None
    isolated = step.get("behavior") == "Isolated"
    matches = step.get("behavior") == "Removed" and step.get("invert")
    return found if isolated or matches else None


def composes(document: Mapping[str, Any]) -> bool | None:
    """Whether it writes letters and their marks as one (NFC), which llama.cpp does not; None: it
    changes a text otherwise."""
    normalizer = document.get("normalizer")
    steps = [] if normalizer is None else normalizer.get("normalizers", [normalizer])
    kinds = {one.get("type") for one in steps}
    return None if kinds - {"NFC"} else bool(kinds)
