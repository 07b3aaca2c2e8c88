"""What a GGUF file says, and the files of a split model: none is read without the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from gguf import GGUFReader, GGUFValueType, GGUFWriter

from pare_backends.failures import CallFailure, one_line
from pare_backends.plain_file import require_file

MAGIC = b"GGUF"
MOST_READS = 20_000_000
"""Of a header: the largest vocabularies take three million."""
PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")
COUNT = "split.count"
DAMAGED = (ValueError, KeyError, TypeError, OSError, IndexError, RecursionError, OverflowError)
"""What gguf-py and transformers raise of a damaged file."""


class BoundedReader(GGUFReader):
    """gguf-py's reader, which else goes on behind the file's end, and for as long as it is told."""

    _reads = 0

    def _get(self, offset: int, dtype: Any, count: int = 1, override_order: Any = None) -> Any:
        found = super()._get(offset, dtype, count, override_order)
        self._reads += 1
        if len(found) != count:
            raise ValueError(f"the file ends in the middle of what stands at byte {int(offset)}")
        self._count(1)
        return found

    def _count(self, reads: int) -> None:
        self._reads += reads
        if self._reads > MOST_READS:
            raise ValueError("its header is longer than that of any model")

    def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
        """gguf-py's own parts, those of arrays without a memory map each: a header of 49,000 tokens
        takes 0.3 s, by gguf-py 5 s."""
        if raw_type != GGUFValueType.ARRAY:
            return super()._get_field_parts(orig_offs, raw_type)
        inner, length = self._get(orig_offs, np.uint32), self._get(orig_offs + 4, np.uint64)
        kind, count, start = GGUFValueType(inner[0]), int(length[0]), int(orig_offs) + 12
        held = self.gguf_scalar_to_np.get(kind)
        if kind == GGUFValueType.STRING:
            parts, end = self._texts(start, count)
        elif held is None:
            return super()._get_field_parts(orig_offs, raw_type)
        else:
            self._count(count)
            values = np.asarray(self._get(start, held, count))
            parts, end = list(values[:, None]), start + values.nbytes
        step = 2 if kind == GGUFValueType.STRING else 1
        places = list(range(1 + step, 2 + step * count, step))
        types = [GGUFValueType.ARRAY, *([kind] if count else [])]
        return end - int(orig_offs), [inner, length, *parts], places, types

    def _texts(self, start: int, count: int) -> tuple[list[Any], int]:
        """(the length and the bytes of each text, where they end)"""
        raw = np.asarray(self.data)
        word = np.dtype(np.uint64).newbyteorder(self.byte_order)
        parts: list[Any] = []
        for _ in range(count):
            self._count(2)
            length = raw[start : start + 8].view(word)
            end = start + 8 + int(length[0]) if len(length) else len(raw) + 1
            if end > len(raw):
                raise ValueError(f"the file ends in the middle of what stands at byte {start}")
            parts += (length, raw[start + 8 : end])
            start = end
        return parts, start


def open_gguf(path: Path) -> GGUFReader:
    """The file's keys and tensors, which stay on the disk; `CallFailure` where it is damaged."""
    require_file(path)
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != MAGIC:
        raise CallFailure(
            "bad_input",
            f"Cannot read {path.name}: a GGUF file starts with {MAGIC!r}, this one with {magic!r}",
            hint="Download or copy the file again",
        )
    try:
        return BoundedReader(path)
    except DAMAGED as error:
        nested = isinstance(error, RecursionError)
        raise unreadable(path, "an array of arrays in its header" if nested else error) from error


def unreadable(path: Path, why: object) -> CallFailure:
    """The failure for a file that a library does not read."""
    said = one_line(why) if isinstance(why, BaseException) else str(why)
    return CallFailure(
        "bad_input",
        f"Cannot read {path.name}: {said}",
        hint="The file may be damaged, or transformers may not know its architecture as GGUF: then"
        " name the model's own folder, and the file by --candidates",
    )


def keys_of(reader: GGUFReader) -> dict[str, Any]:
    """The file's single values by key; an array's is left out, as a vocabulary takes seconds."""
    return {
        name: field.contents()
        for name, field in reader.fields.items()
        if field.types and field.types[0] != GGUFValueType.ARRAY
    }


def gguf_dtype(readers: Sequence[GGUFReader]) -> str:
    """The type that most of the weights have, such as Q4_1."""
    counts: Counter[str] = Counter()
    for reader in readers:
        for tensor in reader.tensors:
            counts[tensor.tensor_type.name] += int(tensor.n_elements)
    if not counts:
        raise ValueError("it holds no tensors")
    return counts.most_common(1)[0][0]


def gguf_parts(path: Path) -> list[Path]:
    """Every file of the model that `path` is a part of, in their order: itself where it is whole.

    Raises `CallFailure` where a part is missing, or the name is not one of a part though the file
    says that it is one: the others are then found by nothing.
    """
    named = PART.fullmatch(path.name)
    if named is None:
        return [path]
    count, stem = int(named["count"]), named["stem"]
    parts = [
        path.with_name(f"{stem}-{number:05d}-of-{count:05d}.gguf") for number in range(1, count + 1)
    ]
    missing = [part.name for part in parts if not part.is_file()]
    if path not in parts or missing:
        raise CallFailure(
            "bad_input",
            f"Cannot read {path.name}: it is one of {count} files of a model, and"
            f" {missing[0] if missing else f'no {path.name} is among them'} is missing",
            hint="Put all files of the model into one directory",
        )
    return parts


NO_MODELS = {
    "mmproj": "turns pictures or sounds into what a language model reads (mmproj)",
    "adapter": "is an adapter, which lies beside a model's weights",
    "imatrix": "is an importance matrix, by which a quantizer weighs columns",
    "vocab": "is a vocabulary alone",
}
"""What a GGUF file may hold beside models, by its general.type."""


def require_language_model(path: Path, keys: dict[str, Any]) -> None:
    """Raises for a file that holds something else. keys: of it"""
    seeing = str(keys.get("general.architecture")) == "clip"  # older files name no type
    what = NO_MODELS.get("mmproj" if seeing else str(keys.get("general.type")))
    if what is not None:
        raise CallFailure(
            "bad_input",
            f"Cannot use {path.name}: it {what}, and is no language model",
            hint="Name the files of the language model alone, such as *Q4_K_M.gguf",
        )


def open_parts(path: Path) -> list[GGUFReader]:
    """The model's files, each read; `CallFailure` where they are not parts of one model."""
    parts = gguf_parts(path)
    readers = [open_gguf(part) for part in parts]
    try:
        keys = [keys_of(reader) for reader in readers]
    except UnicodeDecodeError as error:
        raise unreadable(parts[0], f"a text in its header: {one_line(error)}") from error
    require_language_model(parts[0], keys[0])
    for number, (part, said) in enumerate(zip(parts, keys, strict=True)):
        own = (int(said.get("split.no", 0)), int(said.get(COUNT, 1) or 1))
        if own == (number, len(parts)):
            continue
        raise CallFailure(
            "bad_input",
            f"Cannot read {part.name}: by its own words it is file {own[0] + 1} of {own[1]}, by its"
            f" name {number + 1} of {len(parts)}",
            hint="Give the files of a split model the names that llama.cpp gave them:"
            " model-00001-of-00002.gguf",
        )
    held = sum(len(reader.tensors) for reader in readers)
    wanted = int(keys[0].get("split.tensors.count", held))
    if held != wanted:
        raise CallFailure(
            "bad_input",
            f"Cannot read {parts[0].name}: its {len(parts)} files hold {held} tensors of {wanted}",
            hint="Download or copy the files again",
        )
    return readers


@contextmanager
def one_file(path: Path, readers: Sequence[GGUFReader], room: Path) -> Iterator[Path]:
    """The model as one file: `path` itself, or its parts put together in `room` for a while, as
    transformers reads a single file."""
    if len(readers) == 1:
        yield path
        return
    with TemporaryDirectory(dir=room) as folder:
        whole = Path(folder) / "model.gguf"
        put_together(readers, whole)
        yield whole


def put_together(readers: Sequence[GGUFReader], output: Path) -> None:
    """Writes one file with the first part's keys and every part's tensors as they are."""
    first = readers[0]
    architecture = str(first.fields["general.architecture"].contents())
    writer = GGUFWriter(output, architecture, endianess=first.endianess)
    for name, field in first.fields.items():
        if name.startswith(("GGUF.", "split.")) or name == "general.architecture":
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, sub_type=inner)
    tensors = [tensor for reader in readers for tensor in reader.tensors]
    for one in tensors:
        data, held = one.data, np.dtype(one.data.dtype)
        writer.add_tensor_info(one.name, data.shape, held, data.nbytes, one.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for one in tensors:
        writer.write_tensor_data(one.data)
    writer.close()
