"""Tokenizers that came from sentencepiece, in a GGUF file: llama.cpp's tokens are transformers'."""

from __future__ import annotations

import json
import re
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from gguf import GGUFReader, TokenType
from runtime_fixtures import worker_environment
from sentencepiece_fixtures import SPACE, TEXTS, added, tokenizer_json
from test_gguf import written
from test_llama_cpp import interpreter
from test_splittings import VOCABULARY, checkpoint
from transformers import AutoTokenizer

from pare_backends.runtimes.llama_cpp.sentencepiece_tokenizer import (
    REPLACE,
    UnknownTokenizerError,
    check_merges,
    pieces_of,
    space_prefix,
    strips_behind,
)

CODE = """
import json, sys
from pare_backends.runtimes.llama_cpp.library import api as llama_cpp
model = llama_cpp.Llama(sys.argv[1], vocab_only=True, verbose=False)
ids = [model.tokenize(text.encode(), add_bos=True, special=True) for text in json.load(sys.stdin)]
print(json.dumps([ids, [model.detokenize(one, special=True).decode() for one in ids]]))
"""


def in_file(output: Path, texts: tuple[str, ...] = TEXTS) -> tuple[list[list[int]], list[str]]:
    """llama.cpp's tokens of every text, and the texts that it makes of those."""
    done = subprocess.run(
        [interpreter(), "-c", CODE, str(output / "model.gguf")],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        env=worker_environment(),
        check=True,
    )
    ids, back = json.loads(done.stdout)
    return ids, back


def marked() -> dict[str, Any]:
    """What puts <s> before a text."""
    begin = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    texts = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]
    return {
        "type": "TemplateProcessing", "single": [begin, texts[0]], "pair": [begin, *texts],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
    }  # fmt: skip


OTHERWISE = {
    "always": (re.compile("(^|[>\\]])[ ▁]"), "puts a space before a text that begins with one"),
    "first": (re.compile("^[ ▁]|[>\\]].", re.DOTALL), "puts a space behind control tokens"),
}
"""The texts in which llama.cpp has other tokens, and what the note says of it."""


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("family", ["llama", "gemma", "always", "first", "never"])
def test_a_file_has_the_tokens_of_the_tokenizer(family: str, begins: bool, tmp_path: Path) -> None:
    checkpoint(tmp_path)
    tokenizer_json(tmp_path, family, post_processor=marked() if begins else None)
    tokenizer: Any = AutoTokenizer.from_pretrained(str(tmp_path))
    output, said = written(tmp_path)
    where, note = OTHERWISE.get(family, (None, ""))
    assert [note in one for one in said["notes"]] == [True] * (where is not None)
    several = 0
    for text, own, back in zip(TEXTS, *in_file(output), strict=True):
        ids = tokenizer(text).input_ids
        differs = where is not None and where.search(text) is not None
        assert (own == ids) == (not differs), (text, tokenizer.convert_ids_to_tokens(own))
        several += any(len(one) > 2 for one in tokenizer.tokenize(text) if one[0] != "<")
        if family in ("gemma", "never") and not begins:
            assert back == text.replace(SPACE, " ")
    assert several > len(TEXTS) / 3, "merges were made"


def test_kinds_and_scores_of_a_file(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    document = tokenizer_json(tmp_path, "gemma")
    document["added_tokens"].append(added(VOCABULARY, "<image>"))
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    output, _ = written(tmp_path)
    fields = GGUFReader(output / "model.gguf").fields
    told = {name[15:]: field.contents() for name, field in fields.items() if "tokenizer" in name}
    kinds = dict(zip(told["tokens"], map(TokenType, told["token_type"]), strict=True))
    scores = dict(zip(told["tokens"], told["scores"], strict=True))
    assert (told["model"], told["pre"], told["add_space_prefix"]) == ("llama", "default", False)
    assert len(kinds) == VOCABULARY and "<image>" not in kinds
    expected = {"<unk>": "UNKNOWN", "<s>": "CONTROL", "<0x0A>": "BYTE", "\n\n": "USER_DEFINED"}
    expected |= {"▁▁": "NORMAL", "th": "NORMAL", "[x]": "USER_DEFINED", "[PAD900]": "UNUSED"}
    assert {text: kinds[text].name for text in expected} == expected
    assert scores["▁" * 8] > scores["▁▁"] > scores["th"] > scores["▁the"], "as they are merged"


def test_white_space_behind_the_added_tokens_of_phi_3_is_taken(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    document = tokenizer_json(tmp_path, "llama")
    document["added_tokens"].append(added(document["added_tokens"][-1]["id"] + 1, "<|endoftext|>"))
    for one in document["added_tokens"]:
        one["rstrip"] = one["content"] not in ("<unk>", "<s>", "<|endoftext|>")
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    tokenizer: Any = AutoTokenizer.from_pretrained(str(tmp_path))
    output, said = written(tmp_path)
    assert said["notes"] == []
    texts = (
        "<start>\n the cat<end>\n<start>",
        "<s> the cat</s>  ",
        "[x] \t cat<end> <|endoftext|> ",
    )
    assert in_file(output, texts)[0] == [tokenizer(text).input_ids for text in texts]
    assert len(tokenizer("<end> \n").input_ids) == 1
    document["added_tokens"][3]["rstrip"] = False
    with pytest.raises(UnknownTokenizerError, match="white space behind"):
        strips_behind(document)


def test_added_tokens_of_llama_1_are_told(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    document = tokenizer_json(tmp_path, "llama")
    for one in document["added_tokens"]:
        one["normalized"] = one["content"] in ("<s>", "</s>")
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    tokenizer: Any = AutoTokenizer.from_pretrained(str(tmp_path))
    output, said = written(tmp_path)
    (note,) = said["notes"]
    assert note.startswith("llama.cpp finds </s> everywhere in a text") and "(2 such" in note
    texts = ("the cat", " the  cat<start>the", "<s>", "the <s>", "the<s>", "<s>the")
    same = [
        own == tokenizer(text).input_ids
        for text, own in zip(texts, in_file(output, texts)[0], strict=True)
    ]
    assert same == [True, True, True, False, False, False]


def test_other_shapes_leave_a_file_of_token_ids(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    document = tokenizer_json(tmp_path, "llama")
    replace = {"type": "Sequence", "normalizers": [REPLACE]}
    assert space_prefix({**document, "normalizer": replace}) == (False, None)
    for changes in (
        {"normalizer": {"type": "NFKC"}},
        {"normalizer": None},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"decoder": {"type": "ByteLevel"}},
        {"model": {**document["model"], "ignore_merges": True}},
        {"model": {**document["model"], "dropout": 0.1}},
    ):
        with pytest.raises(UnknownTokenizerError):
            space_prefix({**document, **changes})
    for mark in ("single_word", "lstrip"):
        other = deepcopy(document)
        other["added_tokens"][4][mark] = True
        with pytest.raises(UnknownTokenizerError, match="<end>"):
            strips_behind(other)
    tokenizer_json(tmp_path, "llama", normalizer=None)
    _, said = written(tmp_path)
    assert [note for note in said["notes"] if "token ids only: its normalizer" in note]


def test_merges_that_scores_do_not_tell_are_found() -> None:
    pairs = [("a", "b"), ("b", "c"), ("a", "bc"), ("ab", "c")]
    check_merges(["ab", "bc", "abc"], pairs)
    with pytest.raises(UnknownTokenizerError, match="'a' and 'bc' make a token without a merge"):
        check_merges(["ab", "bc", "abc"], [*pairs[:2], pairs[3]])
    with pytest.raises(UnknownTokenizerError, match="'abc' do not stand together"):
        check_merges(["ab", "bc", "abc"], [pairs[0], pairs[3], pairs[1], pairs[2]])
    check_merges(["aa", "aaa"], [("aa", "a"), ("a", "aa"), ("a", "a")])
    with pytest.raises(UnknownTokenizerError, match="runs of 'a' alternate"):
        check_merges(["aa", "aaa"], [("a", "aa"), ("a", "a"), ("aa", "a")])


def test_every_byte_has_a_token(tmp_path: Path) -> None:
    document = tokenizer_json(tmp_path, "never")
    pieces_of(document, VOCABULARY)
    del document["model"]["vocab"]["<0x80>"]
    with pytest.raises(UnknownTokenizerError, match="no token of some byte"):
        pieces_of(document, VOCABULARY)
