"""Byte-level tokenizers in GGUF files: llama.cpp makes the same tokens of awkward texts."""

from __future__ import annotations

import json
import shutil
import subprocess
import unicodedata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from runtime_fixtures import random_llama, worker_environment
from safetensors.numpy import load_file, save_file
from test_llama_cpp import interpreter, written
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from pare_backends.models.gguf.splittings import (
    BY_CASE,
    DEEPSEEK3_WORDS,
    LLAMA3_WORDS,
    NAMES,
    QWEN2_WORDS,
    composes,
    splitting_of,
)
from pare_backends.models.gguf.tokenizer import settle_tokenizer

TEXTS = (
    "", " ", "  ", "\n", "\n\n \n", "\t\tx", " a", "a ", "Hello, world!",
    "I'm you're they'LL IT'S don't", "In 1984: 12345678 and 3.14159, 1,000,000",
    "x=1;\n\n    def f(a_b):\r\n\treturn a_b+1  # fine", "naïve café Straße ŒUVRE ΑΒΓαβγ",
    "Привет, мир! 日本語のテキスト 한국어 ไทย हिन्दी नमस्ते", "e\u0301 a\u0308 n\u0303",
    "CamelCaseWORDSAndHTTPServer iPhone McDonald", "🙂👍🏽👨\u200d👩\u200d👧 émoji🙂end",
    "https://a.b/c?d=e&f=g#h", "...!!! --- ___ $$$ /**/ //x //", "trailing   \n  next   ",
    "a\u00a0b\u2003c", "'s 't 'Re x's X'S", "<s>inside<s> text", "½ ² ٣ ३ Ⅷ", "\u200b\u200d zero",
    "ab\ncd\n\nef\r\n\r\ngh",
)  # fmt: skip
LEARNT = [*TEXTS, "the cat isn't on the mat; the hat is, in 1984. The World's END"]
VOCABULARY = 1200


def checkpoint(directory: Path) -> None:
    """A model with room for so many tokens."""
    shutil.copytree(random_llama(0), directory, dirs_exist_ok=True)
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps({**config, "vocab_size": VOCABULARY}))
    tensors = load_file(directory / "model.safetensors")
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        if name in tensors:
            tensors[name] = np.resize(tensors[name], (VOCABULARY, tensors[name].shape[1]))
    save_file(tensors, directory / "model.safetensors")


def own_tokenizer(directory: Path, steps: list[Any], whole: bool, nfc: bool = False) -> Any:
    """Trains a byte-level BPE tokenizer with these steps before its bytes into a checkpoint."""
    core = Tokenizer(models.BPE(ignore_merges=whole))
    own = not steps
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=own)]
    )
    if nfc:
        core.normalizer = normalizers.NFC()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - 2,
        special_tokens=["<s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(LEARNT * 6, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>")
    tokenizer.save_pretrained(str(directory))
    return tokenizer


def tokens_in_file(output: Path, marks: bool = False) -> list[list[int]]:
    code = (
        "import json, sys\n"
        "from pare_backends.runtimes.llama_cpp.library import api as llama_cpp\n"
        "model = llama_cpp.Llama(sys.argv[1], vocab_only=True, verbose=False)\n"
        "marks = sys.argv[2] == 'True'\n"
        "print(json.dumps([model.tokenize(text.encode(), add_bos=marks, special=True)\n"
        "    for text in json.load(sys.stdin)]))"
    )
    done = subprocess.run(
        [interpreter(), "-c", code, str(output / "model.gguf"), str(marks)],
        input=json.dumps(TEXTS),
        capture_output=True,
        text=True,
        env=worker_environment(),
        check=True,
    )
    told: list[list[int]] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("words", NAMES, ids=NAMES.values())
def test_a_file_splits_a_text_as_the_tokenizer(
    words: tuple[str, ...], whole: bool, tmp_path: Path
) -> None:
    checkpoint(tmp_path)
    steps = [pre_tokenizers.Split(Regex(one), "isolated") for one in words]
    tokenizer = own_tokenizer(tmp_path, steps, whole)
    output, said = written(tmp_path)
    if splitting_of(json.loads((tmp_path / "tokenizer.json").read_text())) is None:
        assert any("token ids only" in note for note in said["notes"])
        return
    by_case = NAMES[words] in BY_CASE
    assert ["by the case of A to Z alone" in note for note in said["notes"]] == [True] * by_case
    for text, own in zip(TEXTS, tokens_in_file(output), strict=True):
        if not (by_case and any(one in text for one in ("ŒUVRE", "हिन्दी", "e\u0301"))):
            assert own == tokenizer(text).input_ids, (text, tokenizer.convert_ids_to_tokens(own))
    merged = sum(len(tokenizer(text).input_ids) for text in TEXTS)
    assert merged < sum(len(text.encode()) for text in TEXTS) / 2, "merges were made"


def test_letters_that_a_text_has_apart_are_told(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    split = pre_tokenizers.Split(Regex(QWEN2_WORDS), "isolated")
    tokenizer = own_tokenizer(tmp_path, [split], whole=False, nfc=True)
    output, said = written(tmp_path)
    assert [note for note in said["notes"] if "writes them as one (NFC)" in note]
    for text, own in zip(TEXTS, tokens_in_file(output), strict=True):
        apart = unicodedata.normalize("NFC", text) != text
        assert (own == tokenizer(text).input_ids) == (not apart), text


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("words", [LLAMA3_WORDS, QWEN2_WORDS], ids=["llama-bpe", "qwen2"])
def test_a_text_begins_with_a_mark_where_the_tokenizer_adds_one(
    words: str, marked: bool, tmp_path: Path
) -> None:
    """Of files that do not say, llama.cpp adds Llama 3's to every text that is split as there."""
    checkpoint(tmp_path)
    tokenizer = own_tokenizer(
        tmp_path, [pre_tokenizers.Split(Regex(words), "isolated")], words == LLAMA3_WORDS
    )
    if marked:
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)]
        )
        tokenizer.save_pretrained(str(tmp_path))
    output, _ = written(tmp_path)
    for text, own in zip(TEXTS, tokens_in_file(output, marks=True), strict=True):
        assert own == tokenizer(text).input_ids, text
        assert (own[:1] == [0]) == (marked or text.startswith("<s>"))


def test_a_file_that_was_made_of_a_read_one_holds_its_tokenizer(tmp_path: Path) -> None:
    """SmolLM2's, which transformers reads out of a GGUF file: it says byte_fallback of each."""
    checkpoint(tmp_path)
    own_tokenizer(tmp_path, [], whole=False)
    path = tmp_path / "tokenizer.json"
    told = json.loads(path.read_text())
    digits = {"type": "Digits", "individual_digits": True}
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    told["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [digits, last]}
    told["model"] |= {"byte_fallback": True, "fuse_unk": True, "unk_token": "<s>"}
    path.write_text(json.dumps(told))
    tokenizer = Tokenizer.from_file(str(path))
    output, said = written(tmp_path)
    assert said["notes"] == []
    for text, own in zip(TEXTS, tokens_in_file(output), strict=True):
        assert own == tokenizer.encode(text).ids, text


def step(pattern: str, **more: Any) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", **more}


def document(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    last = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    model = {"type": "BPE", **more}
    return {"model": model, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*steps, last]}}


def test_what_a_step_leaves_out_is_no_splitting() -> None:
    assert splitting_of(document(step(QWEN2_WORDS))) == "qwen2"
    assert splitting_of(document(step(QWEN2_WORDS, behavior="Removed", invert=True))) == "qwen2"
    assert splitting_of(document(step(QWEN2_WORDS, behavior="Removed", invert=False))) is None
    assert splitting_of(document(step(QWEN2_WORDS), ignore_merges=True)) is None
    assert splitting_of(document(step(LLAMA3_WORDS), ignore_merges=True)) == "llama-bpe"
    assert splitting_of(document(step(LLAMA3_WORDS), step(QWEN2_WORDS))) is None
    assert splitting_of(document(step(QWEN2_WORDS.replace("p{N}|", "p{N}+|")))) is None
    plain = [step(one.replace(r"\r\n", "\r\n")) for one in DEEPSEEK3_WORDS]
    assert splitting_of(document(*plain)) == "deepseek-v3"
    assert composes({"normalizer": {"type": "NFC"}}) is True
    assert composes({"normalizer": {"type": "Sequence", "normalizers": []}}) is False
    assert composes({"normalizer": {"type": "NFKC"}}) is None


@pytest.mark.parametrize("words", NAMES, ids=NAMES.values())
def test_a_file_of_others_is_cut_as_its_name_says(words: tuple[str, ...]) -> None:
    splits = [pre_tokenizers.Split(Regex(one), "isolated") for one in words]
    wanted = pre_tokenizers.Sequence(
        [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    read = Reads(SimpleNamespace(pre_tokenizer=None), SimpleNamespace(input_ids=[]))
    keys = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": NAMES[words]}
    assert settle_tokenizer(read, keys) == []
    for text in TEXTS:
        own = read.backend_tokenizer.pre_tokenizer.pre_tokenize_str(text)
        assert own == wanted.pre_tokenize_str(text)


class Reads:
    """A tokenizer whose file marks no text."""

    def __init__(self, backend: Any, asked: Any) -> None:
        self.backend_tokenizer, self._asked = backend, asked

    def __call__(self, text: str) -> Any:
        return self._asked
