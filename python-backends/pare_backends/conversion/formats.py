"""The formats by their names."""

from __future__ import annotations

from pare_backends.conversion.auto_round import AutoRoundFiles
from pare_backends.conversion.awq import AwqFiles
from pare_backends.conversion.compressed_tensors import CompressedTensorsFiles
from pare_backends.conversion.files_format import FilesFormat
from pare_backends.conversion.gptq import GptqFiles
from pare_backends.failures import StageFailure
from pare_backends.knobs import unknown_name

FORMATS: dict[str, FilesFormat] = {
    one.NAME: one for one in (GptqFiles(), AwqFiles(), AutoRoundFiles(), CompressedTensorsFiles())
}


def format_named(name: str) -> FilesFormat:
    """The format of a name; raises `StageFailure` where there is none."""
    if name not in FORMATS:
        raise StageFailure("bad_input", unknown_name("format", name, list(FORMATS)))
    return FORMATS[name]
