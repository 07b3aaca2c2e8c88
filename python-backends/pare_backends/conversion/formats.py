"""The formats by their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pare_backends.conversion.auto_round import AutoRoundFiles
from pare_backends.conversion.awq import AwqFiles
from pare_backends.conversion.bitsandbytes import check_bitsandbytes, convert_bitsandbytes
from pare_backends.conversion.compressed_tensors import CompressedTensorsFiles
from pare_backends.conversion.files_format import FilesFormat, Source
from pare_backends.conversion.gguf_files import check_gguf, convert_gguf
from pare_backends.conversion.gguf_files import lacking as lacking_gguf
from pare_backends.conversion.gptq import GptqFiles
from pare_backends.conversion.openvino_files import check_openvino, convert_openvino, lacking
from pare_backends.failures import CallFailure
from pare_backends.knobs import unknown_name
from pare_backends.progress import Report

FORMATS: dict[str, FilesFormat] = {
    one.NAME: one for one in (GptqFiles(), AwqFiles(), AutoRoundFiles(), CompressedTensorsFiles())
}


class OwnLayout(NamedTuple):
    """A format that holds no integers of linear layers in safetensors, and so has its own way."""

    convert: Callable[[Source, Path, Report], int]  # the folder's bytes by the format's formula
    check: Callable[[Path, Source, Report, str | None], dict[str, Any]]
    # the result of call `check_conversion`, by an interpreter of what such files are for, if any
    lacking: Callable[[Path], list[str]] = lambda output: []  # what it or its readers have not


OWN_LAYOUTS = {
    "gguf": OwnLayout(convert_gguf, check_gguf, lacking_gguf),
    "openvino": OwnLayout(convert_openvino, lambda d, s, r, _: check_openvino(d, s, r), lacking),
    "bitsandbytes": OwnLayout(convert_bitsandbytes, lambda d, s, r, _: check_bitsandbytes(d, s, r)),
}


def format_named(name: str) -> FilesFormat:
    """The format of a name; raises `CallFailure` where there is none."""
    if name not in FORMATS:
        raise CallFailure("bad_input", unknown_name("format", name, [*FORMATS, *OWN_LAYOUTS]))
    return FORMATS[name]
