"""Small tokenizers of the shapes that transformers makes of sentencepiece's models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from pare_backends.runtimes.llama_cpp.sentencepiece_tokenizer import (
    DECODERS,
    PREPEND,
    REPLACE,
    SPLIT,
    STRIP,
)

SPACE = "▁"
LEARNT = [
    "the cat isn't on the mat; the hat is\tin 1984,  naïve   as    that 中文字符\nand then"
] * 6
TEXTS = (
    "", " ", "  ", "the cat", " the cat ", "   the   cat    isn't     on\t\tthe\n\n\nmat", "\n",
    "\n" * 9, SPACE, f"a{SPACE}the", f"{SPACE}{SPACE}the", " " * 21 + "cat",
    "\U0001f600 the \U0001f469\u200d\U0001f467 cat", "中文字符, 測試。", "日本語",
    "\U00010348 \x01", "<0x41>", "<s>the cat", "<s> the cat", "the <s> cat<s><s>hat</s> ",
    "the<unk>hat", "<start>the\nhat<end>\n<start>the cat", "the [x] mat", "[x][x] [x]",
)  # fmt: skip

Document = dict[str, Any]


def added(number: int, text: str, special: bool = True, **more: Any) -> Document:
    marks = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": text, "special": special, **marks, **more}


def learnt_tokens(spaces: bool) -> list[str]:
    """Tokens of BPE in the order in which they were made, those of one character first."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, prepend_scheme="always", split=not spaces)
    trainer = trainers.BpeTrainer(vocab_size=140, show_progress=False)
    core.train_from_iterator(LEARNT, trainer)
    vocabulary = core.get_vocab()
    return sorted(vocabulary, key=lambda token: vocabulary[token])


def every_merge(tokens: list[str]) -> list[list[str]]:
    """All pairs that make a token, in the order of the tokens, as sentencepiece joins them."""
    known = set(tokens)
    cuts = [[token[:at], token[at:]] for token in tokens for at in range(1, len(token))]
    return [pair for pair in cuts if known.issuperset(pair)]


def tokenizer_json(directory: Path, family: str, **changes: Any) -> Document:
    """Writes tokenizer.json and its config into a checkpoint.

    family: llama (a text is prepended), gemma (it is not; runs are added tokens), or the scheme of
    Metaspace: always, first, never. changes: entries of the file in the place of the family's
    """
    gemma = family == "gemma"
    names = ["<unk>", "<s>", "</s>", "<start>", "<end>"]
    own = [added(number, text) for number, text in enumerate(names)]
    pieces = [*names, *(f"<0x{byte:02X}>" for byte in range(256))]
    runs = [character * count for character in "\n▁" for count in range(2, 9)] if gemma else []
    own += [added(len(pieces) + at, text, False) for at, text in enumerate(runs)]
    learnt = [one for one in learnt_tokens(spaces=not gemma) if one not in runs]
    vocabulary = {text: number for number, text in enumerate([*pieces, *runs, *learnt])}
    own.append(added(len(vocabulary), "[x]", special=False))
    # As transformers writes those of one score: by the lengths of their parts, the longest first.
    first = sorted(every_merge([*runs, "\n", SPACE]), key=lambda pair: [-len(one) for one in pair])
    later = [pair for pair in every_merge([*runs, *learnt]) if "".join(pair) not in runs]
    model = {
        "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
        "vocab": vocabulary, "merges": [*first, *later],
    }  # fmt: skip
    metaspace = {
        "type": "Metaspace", "replacement": SPACE, "prepend_scheme": family, "split": False,
    }  # fmt: skip
    llama = {"type": "Sequence", "normalizers": [PREPEND, REPLACE]}
    document = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": own,
        "normalizer": {"llama": llama, "gemma": REPLACE}.get(family),
        "pre_tokenizer": {"llama": None, "gemma": SPLIT}.get(family, metaspace),
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": DECODERS if gemma else [*DECODERS, STRIP]},
        "model": model, **changes,
    }  # fmt: skip
    (directory / "tokenizer.json").write_text(json.dumps(document))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
    (directory / "tokenizer_config.json").write_text(json.dumps(config))
    return document
