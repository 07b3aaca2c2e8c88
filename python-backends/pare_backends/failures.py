"""Why a call did not happen, under the names of the wire (`core/schemas/failure.ts`)."""

from __future__ import annotations

import errno
import re
import traceback
from dataclasses import dataclass

FAILURE_KINDS = (
    "invalid",
    "bad_input",
    "out_of_memory",
    "not_a_number",
    "verification",
    "crash",
    "stall",
    "disk_full",
    "missing_environment",
    "endpoint",
    "cancelled",
)

OUT_OF_MEMORY_TEXTS = (
    "CUDA out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "HIP out of memory",
    "std::bad_alloc",
)
DISK_FULL_TEXTS = ("No space left on device", "Disk quota exceeded")
DISK_FULL_NUMBERS = (errno.ENOSPC, errno.EDQUOT)


LONGEST_MESSAGE = 2_000
ACTED_ON = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What a terminal, or a reader of lines, acts on; marks that turn a text round among them."""


def visible(text: str, limit: int = LONGEST_MESSAGE) -> str:
    """A text that quotes a stranger's file, on one line: what a terminal would act on is shown as
    its code, and what is longer than `limit` characters is cut."""
    line = re.sub(r"[\t\r\n]+", " ", text)
    cut = line if len(line) <= limit else line[: limit - 1] + "…"
    return ACTED_ON.sub(lambda letter: f"\\u{ord(letter[0]):04x}", cut)


class CallFailure(Exception):
    """A failure that a call expects: what was attempted, why not, the value; and what to do.

    `raise CallFailure("bad_input", 'Cannot read "x.gguf": its magic is 0', hint="…")`
    """

    def __init__(self, kind: str, message: str, hint: str | None = None) -> None:
        if kind not in FAILURE_KINDS:
            raise ValueError(f'Unknown failure kind "{kind}". Known: {", ".join(FAILURE_KINDS)}')
        super().__init__(visible(message))
        self.kind = kind
        self.message = visible(message)
        self.hint = None if hint is None else visible(hint)


StageFailure = CallFailure
"""Its name until calls were told from the stages of a staged run: plugins of then import it."""


@dataclass(frozen=True)
class Failure:
    """What the worker says on the wire about an exception."""

    kind: str
    message: str
    hint: str | None
    traceback: str | None


def chain(error: BaseException) -> list[BaseException]:
    """The exception, then what caused it, outermost first; each once."""
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and all(current is not seen for seen in found):
        found.append(current)
        current = current.__cause__ or current.__context__
    return found


def is_out_of_memory(error: BaseException) -> bool:
    """Whether host or GPU memory ran out: by type, or by the words of a library."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(t in str(error) for t in OUT_OF_MEMORY_TEXTS)


def is_disk_full(error: BaseException) -> bool:
    """Whether a write failed for want of space: by number, or by the words of a library."""
    if isinstance(error, OSError) and error.errno in DISK_FULL_NUMBERS:
        return True
    # safetensors and arrow wrap the system's error in their own type: only the words are left.
    return any(text in str(error) for text in DISK_FULL_TEXTS)


def classify(error: BaseException, call: str) -> Failure:
    """Names a failure. A cause inside the chain counts: libraries wrap what they catch."""
    expected = next((e for e in chain(error) if isinstance(e, CallFailure)), None)
    if expected is not None:
        return Failure(expected.kind, expected.message, expected.hint, None)
    trace = "".join(traceback.format_exception(error))
    if any(is_out_of_memory(e) for e in chain(error)):
        return Failure(
            "out_of_memory",
            f"Cannot {call}: out of memory ({one_line(error)})",
            "Use a smaller model, batch or number of calibration windows, or free memory",
            trace,
        )
    if any(isinstance(e, FloatingPointError) for e in chain(error)):
        return Failure("not_a_number", f"Cannot {call}: {one_line(error)}", None, trace)
    if any(is_disk_full(e) for e in chain(error)):
        return Failure(
            "disk_full",
            f"Cannot {call}: no space left on the disk ({one_line(error)})",
            "Free space, lower --max-disk, or set PARE_HOME to a larger disk",
            trace,
        )
    return Failure(
        "crash", f"Cannot {call}: {type(error).__name__}: {one_line(error)}", None, trace
    )


def one_line(error: BaseException, limit: int = 300) -> str:
    """The error's text on one line, cut at `limit` characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= limit else text[: limit - 1] + "…"
