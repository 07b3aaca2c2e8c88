import errno

import pytest

from pare_backends.failures import CallFailure, classify


class OutOfMemoryError(RuntimeError):
    """Named like torch's, which is raised on a GPU only."""


def wrapped(cause: BaseException) -> Exception:
    try:
        try:
            raise cause
        except BaseException as error:
            raise RuntimeError("the library gave up") from error
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MemoryError(), "out_of_memory"),
        (OutOfMemoryError("CUDA"), "out_of_memory"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "out_of_memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: 8 bytes"), "out_of_memory"),
        (OSError(errno.ENOSPC, "No space left on device"), "disk_full"),
        (Exception("Error while serializing: I/O error: No space left on device"), "disk_full"),
        (FloatingPointError("loss is nan"), "not_a_number"),
        (OSError(errno.ENOENT, "No such file"), "crash"),
        (ValueError("CUDA out of luck"), "crash"),
        (KeyboardInterrupt(), "crash"),
    ],
)
def test_classify_names_the_kind_also_under_a_wrapping_error(
    error: BaseException, kind: str
) -> None:
    assert classify(error, "apply").kind == kind
    assert classify(wrapped(error), "apply").kind == kind


def test_torch_s_own_refusal_of_memory_is_out_of_memory() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)
    assert classify(caught.value, "apply").kind == "out_of_memory"


def test_a_call_failure_wins_over_what_wraps_it_and_has_no_traceback() -> None:
    failure = classify(wrapped(CallFailure("invalid", "no GPU", "use rtn")), "apply")
    assert (failure.kind, failure.message, failure.hint) == ("invalid", "no GPU", "use rtn")
    assert failure.traceback is None


def test_a_crash_carries_its_traceback_and_one_line_of_text() -> None:
    failure = classify(wrapped(ValueError("two\nlines")), "verify")
    assert failure.message == "Cannot verify: RuntimeError: the library gave up"
    assert "ValueError: two" in (failure.traceback or "")


def test_an_unknown_kind_cannot_be_raised() -> None:
    with pytest.raises(ValueError, match="Unknown failure kind"):
        CallFailure("broken", "x")
