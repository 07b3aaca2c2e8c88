"""Call `import_model`: finds a model, makes or points to its baseline directory, reads facts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.checkpoint.files import weight_files
from pare_backends.checkpoint.own_files import check_directory
from pare_backends.checkpoint.stored import Entry
from pare_backends.elsewhere.baseline import make_baseline
from pare_backends.elsewhere.text_part import text_bytes, text_config
from pare_backends.memory_check import FLOAT_BYTES, check_memory
from pare_backends.models.checks import check_adapter, check_config, read_config, read_entries
from pare_backends.models.size_checks import check_sizes
from pare_backends.models.sources import find_source
from pare_backends.progress import Report
from pare_backends.runtimes.unwritten import why_no_gguf


@dataclass(frozen=True)
class ImportModelRequest:
    """`import_model` of the wire."""

    model_name: str
    output_dir: str
    trust_remote_code: bool
    tokenizer_dir: str | None = None
    """Of the model whose tokenizer it must have."""


def run(request: ImportModelRequest, report: Report) -> dict[str, Any]:
    """`ModelFacts`. Writes to `output_dir` where weights must be converted or trained; a
    checkpoint directory stays where it is and is not copied."""
    if request.trust_remote_code:
        os.environ["PARE_TRUST_REMOTE_CODE"] = "1"
    source = find_source(request.model_name, request.trust_remote_code, report, packed=True)
    directory, made = make_baseline(source, Path(request.output_dir).resolve(), report)
    with report.span("inspect"):
        check_directory(directory)
        from pare_backends.models.facts import model_facts

        config = read_config(directory)
        check_config(directory, config, request.trust_remote_code)
        check_adapter(directory)
        entries = read_entries(directory)
        check_sizes(directory, config, entries)
        if request.tokenizer_dir is not None:
            from pare_backends.distillation.student import check_tokenizers

            check_tokenizers(directory, Path(request.tokenizer_dir))
        check_memory(request.model_name, values(entries) * FLOAT_BYTES)
        facts = model_facts(directory, config, entries, report)
    facts["no_gguf"] = why_no_gguf(config)
    facts["model_name"] = request.model_name
    facts["source"] = source.kind
    facts["path"] = str(directory)
    facts["revision"] = source.revision
    if source.kind != "demo" and source.path is not None and made is not None:
        facts["original_bytes"] = given_bytes(source.path)
    if made is not None:
        facts["dtype"], notes = made
        facts["notes"] = [*notes, *facts["notes"]]
    return facts


def values(entries: dict[str, Entry]) -> int:
    """Number of values in all tensors."""
    return sum(entry.values for entry in entries.values())


def given_bytes(path: Path) -> int:
    """Bytes of the weights as they were given: of a model that also sees, of what reads text."""
    if path.is_dir() and text_config(path) is not None:
        return text_bytes(path)
    return sum(part.stat().st_size for part in weights_of(path))


def weights_of(path: Path) -> list[Path]:
    """The files that hold a model's weights as it was given."""
    if path.is_dir():
        return weight_files(path)
    from pare_backends.models.gguf.reading import gguf_parts

    return gguf_parts(path)
