"""Small files that the loop of doors found to crash a call, or to ask for more than there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pare_backends.checkpoint.adapter import read_adapter
from pare_backends.checkpoint.files import brings_code
from pare_backends.checkpoint.stored import file_entries
from pare_backends.evaluation.tasks.task_yaml import read_document
from pare_backends.evaluation.tasks.templates import check_template
from pare_backends.failures import CallFailure
from pare_backends.models.size_checks import check_sizes, largest_id


def header(path: Path, shape: list[Any], size: int, offsets: list[Any] | None = None) -> Path:
    """A file of one tensor of bytes that says it has this shape."""
    fields = {"dtype": "U8", "shape": shape, "data_offsets": offsets or [0, size]}
    text = json.dumps({"a": fields}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(size))
    return path


@pytest.mark.parametrize(
    ("shape", "offsets"),
    [
        ([-2, -4], None),  # numpy takes them for sides that it may choose
        ([2**33, 2**33, 4], None),  # 2^68 values, which is 0 in 64 bits
        ([10**30], None),
        ([8.0], None),
        ([True, 8], None),
        ([8], [-8, 0]),  # of the header
    ],
)
def test_a_shape_that_no_tensor_has_is_refused(
    tmp_path: Path, shape: list[Any], offsets: list[Any] | None
) -> None:
    with pytest.raises(CallFailure, match="its header cannot be read"):
        file_entries(header(tmp_path / "m.safetensors", shape, 8, offsets))


def test_a_tensor_without_values_makes_room_for_no_layers(tmp_path: Path) -> None:
    entries = file_entries(header(tmp_path / "m.safetensors", [0, 2**40], 0))
    with pytest.raises(CallFailure, match="num_hidden_layers: 10000000, and its files hold 1 "):
        check_sizes(tmp_path, {"num_hidden_layers": 10_000_000}, entries)


def test_layers_are_counted_by_tensors_and_not_by_a_side(tmp_path: Path) -> None:
    entries = file_entries(header(tmp_path / "m.safetensors", [150_000], 150_000))
    with pytest.raises(CallFailure, match="num_hidden_layers: 100000"):
        check_sizes(tmp_path, {"num_hidden_layers": 100_000}, entries)
    check_sizes(tmp_path, {"max_window_layers": 100_000}, entries)


def test_a_tokenizer_whose_ids_are_none_names_the_others(tmp_path: Path) -> None:
    added = [{"id": [1]}, 3, {"content": "<x>", "id": 7}]
    (tmp_path / "tokenizer.json").write_text(json.dumps({"added_tokens": added, "model": [1]}))
    decoder = json.dumps({"added_tokens_decoder": {"\u00b2": 1, "9" * 5_000: 2}})
    (tmp_path / "tokenizer_config.json").write_text(decoder)
    assert largest_id(tmp_path) == ("<x>", 7)


def test_a_number_that_python_does_not_read_is_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(f"task: {'9' * 5_000}\n")
    with pytest.raises(CallFailure, match="it is no YAML: Exceeds the limit"):
        read_document(path)


def test_a_template_of_nests_is_no_crash() -> None:
    assert check_template("{{ " + "[" * 20_000 + "]" * 20_000 + " }}") == "is nested too deep"
    assert check_template("{{ question }}") is None


def test_documents_of_nests_beside_weights_are_no_crash(tmp_path: Path) -> None:
    nests = "[" * 100_000
    (tmp_path / "tokenizer_config.json").write_text(nests)
    assert brings_code(tmp_path, {}) is False
    (tmp_path / "adapter").mkdir()
    for text in (nests, "[]", '"LORA"'):
        (tmp_path / "adapter" / "adapter_config.json").write_text(text)
        with pytest.raises(CallFailure, match=r"adapter_config\.json"):
            read_adapter(tmp_path)


def test_what_a_terminal_would_act_on_is_shown_as_its_code() -> None:
    failure = CallFailure("bad_input", "a\u001b[31m\u202eb\nc" + "x" * 9_000, hint="d\u0007")
    assert failure.message.startswith("a\\u001b[31m\\u202eb cx") and failure.hint == "d\\u0007"
    assert len(failure.message) < 2_100
