"""A GGUF file's header is read here as gguf-py reads it, a vocabulary sooner."""

from __future__ import annotations

import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf import GGUFEndian, GGUFReader, GGUFValueType, GGUFWriter

from pare_backends.failures import CallFailure
from pare_backends.models.gguf.asking_once import asking_once
from pare_backends.models.gguf.reading import open_gguf, open_parts

ARRAYS = {
    "texts": (["the", "", "ą ę", "x" * 300], GGUFValueType.STRING),
    "counts": ([3, 3, 0, 7], GGUFValueType.UINT32),
    "scores": ([0.5, -1.0, float("inf")], GGUFValueType.FLOAT32),
    "flags": ([True, False], GGUFValueType.BOOL),
    "wide": ([-1, 1 << 40], GGUFValueType.INT64),
    "one": (["alone"], GGUFValueType.STRING),
}


def written(path: Path, order: GGUFEndian = GGUFEndian.LITTLE) -> Path:
    writer = GGUFWriter(path, "llama", endianess=order)
    writer.add_uint32("llama.block_count", 2)
    for name, (values, kind) in ARRAYS.items():
        writer.add_key_value(name, values, GGUFValueType.ARRAY, sub_type=kind)
    writer.add_string("general.name", "behind the arrays")
    writer.add_tensor("token_embd.weight", np.ones((4, 8), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("order", [GGUFEndian.LITTLE, GGUFEndian.BIG])
def test_fields_are_those_of_the_library(tmp_path: Path, order: GGUFEndian) -> None:
    path = written(tmp_path / "a.gguf", order)
    ours, own = open_gguf(path), GGUFReader(path)
    assert list(ours.fields) == list(own.fields)
    for name, field in own.fields.items():
        found = ours.fields[name]
        assert found.contents() == field.contents(), name
        assert (found.types, found.data, found.offset) == (field.types, field.data, field.offset)
        assert [one.tolist() for one in found.parts] == [one.tolist() for one in field.parts], name
    assert ours.data_offset == own.data_offset
    assert (ours.tensors[0].data == own.tensors[0].data).all()


def test_a_header_that_ends_anywhere_is_refused(tmp_path: Path) -> None:
    whole = written(tmp_path / "a.gguf").read_bytes()
    held = GGUFReader(tmp_path / "a.gguf").data_offset
    for end in range(5, held, 7):
        path = tmp_path / "cut.gguf"
        path.write_bytes(whole[:end])
        with pytest.raises(CallFailure, match=r"Cannot read cut\.gguf"):
            open_gguf(path)


def test_a_last_text_that_is_cut_is_refused(tmp_path: Path) -> None:
    texts = b"".join(struct.pack("<Q", len(one)) + one for one in (b"the", b"whole"))
    key = struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 8, 2)
    path = tmp_path / "cut.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + texts)
    assert open_gguf(path).fields["a"].contents() == ["the", "whole"]
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(CallFailure, match=r"Cannot read cut\.gguf"):
        open_gguf(path)


def test_the_library_is_asked_once_and_then_as_before(tmp_path: Path) -> None:
    reader = open_gguf(written(tmp_path / "a.gguf"))
    own = gguf.GGUFReader, gguf.get_tensor_name_map
    with pytest.raises(ZeroDivisionError), asking_once([reader]):
        assert gguf.GGUFReader("whatever") is reader
        kind = gguf.MODEL_ARCH.LLAMA
        assert gguf.get_tensor_name_map(kind, 2) is gguf.get_tensor_name_map(kind, 2)
        raise ZeroDivisionError
    with asking_once([reader, reader]):
        assert gguf.GGUFReader is own[0]
    assert (gguf.GGUFReader, gguf.get_tensor_name_map) == own


@pytest.mark.parametrize(
    ("architecture", "kind", "why"),
    [
        ("clip", "mmproj", "turns pictures or sounds"),
        ("clip", None, "turns pictures or sounds"),
        ("llama", "adapter", "is an adapter"),
        ("imatrix", "imatrix", "is an importance matrix"),
    ],
)
def test_what_lies_beside_models_in_such_files_is_none(
    architecture: str, kind: str | None, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "beside.gguf"
    writer = GGUFWriter(path, architecture)
    if kind is not None:
        writer.add_string("general.type", kind)
    writer.add_tensor("v.weight", np.zeros((4, 8), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(CallFailure, match=f"Cannot use beside.gguf: it {why}.*no language model"):
        open_parts(path)
