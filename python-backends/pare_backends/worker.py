"""One call in one process: `python -m pare_backends.worker [--preload torch] [--supervised]`.

Reads one JSON request (a line) on stdin, writes events (lines of JSON) on stdout, logs on stderr.
A failure that was handled ends with exit status 0: its `failure` event tells what it was.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib
import os
import signal
import sys
import time
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pare_backends.failures import CallFailure, classify
from pare_backends.knobs import unknown_name
from pare_backends.machine import physical_cores
from pare_backends.offline import guard
from pare_backends.prepare_imports import PRELOADS, prepare_imports, without_collecting
from pare_backends.progress import Report
from pare_backends.protocol import EventWriter, WorkerRequest, build, read_request
from pare_backends.supervised import die_with_parent, watch_stdin


def take_stdout() -> EventWriter:
    """The real stdout, for events alone. From here on print and C libraries reach stderr."""
    events = os.dup(1)
    os.set_inheritable(events, False)
    os.dup2(2, 1)
    return EventWriter(events)


def read_line() -> str:
    """The first line of stdin; what follows is nobody's. Empty where stdin has ended."""
    data = bytearray()
    while b"\n" not in data:
        part = os.read(0, 65536)
        if not part:
            break
        data += part
    return data.partition(b"\n")[0].decode("utf-8")


def default_threads() -> int:
    """The threads that OMP_NUM_THREADS asks for; where it does not, the physical cores."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdecimal() and int(asked) > 0 else physical_cores()


def set_threads(threads: int | None) -> int:
    """Sets what torch, OpenMP and BLAS compute with; None: `default_threads`."""
    count = threads if threads is not None else default_threads()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(count)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(count)
    return count


def known_calls() -> dict[str, str]:
    """Modules of the calls by name: each is a file below `calls/` with a function
    `run(request, report)`."""
    package = Path(__file__).parent
    files = sorted((package / "calls").rglob("[a-z]*.py"), key=lambda file: file.stem)
    return {
        file.stem: ".".join(file.relative_to(package.parent).with_suffix("").parts)
        for file in files
    }


def run_call(
    request: WorkerRequest, emit: EventWriter, answered: Callable[[], object] = lambda: None
) -> None:
    """Runs the request's call; its result or its failure is the last event.

    answered: returns when the client has sent one line more
    """
    call = str(request.request.get("call"))
    if call not in known_calls():
        raise CallFailure("bad_input", unknown_name("call", call, list(known_calls())))
    emit({"event": "started", "request_id": request.request_id, "call": call})
    report = Report(emit, set_threads(request.threads), answered)
    with report.span("import", library=True), without_collecting():
        module = importlib.import_module(known_calls()[call])
    cls = typing.get_type_hints(module.run)["request"]
    payload = {key: value for key, value in request.request.items() if key != "call"}
    result: Any = module.run(build(cls, payload, call), report)
    emit({"event": "result", "call": call, "result": result})


def begin(supervised: bool) -> None:
    """Before anything else: a crash is written to the log, and no worker outlives its parent."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)  # where does a stalled worker stand
    if supervised:
        die_with_parent()


def serve(emit: EventWriter, imports_seconds: float, supervised: bool) -> int:
    """The process once its imports are done: `ready`, one request, its events. Returns the exit
    status."""
    emit({"event": "ready", "pid": os.getpid(), "imports_seconds": imports_seconds})
    line = read_line()
    if not line.strip():
        return 0  # nobody asked for anything
    answered = watch_stdin().acquire if supervised else lambda: None
    call = "read the request"
    try:
        request = read_request(line)
        call = str(request.request.get("call"))
        run_call(request, emit, answered)
    except BaseException as error:
        failure = classify(error, call)
        # A full disk fails the log too: what the failure is must still be said.
        with contextlib.suppress(OSError):
            print(failure.traceback or failure.message, file=sys.stderr)
        emit({"event": "failure", **vars(failure)})
    return 0


def main(arguments: list[str] | None = None) -> int:
    """The process from its start. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="pare_backends.worker", description=__doc__)
    parser.add_argument("--preload", choices=sorted(PRELOADS), default="none")
    parser.add_argument("--supervised", action="store_true", help="die with the parent process")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    emit = take_stdout()
    begin(options.supervised)
    guard()
    prepare_imports(options.preload)
    return serve(emit, time.perf_counter() - started, options.supervised)


if __name__ == "__main__":
    status = main()
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    # Libraries' exit handlers may hang or crash after the result was said; nothing is left to do.
    os._exit(status)
