"""Serves an artifact: `python -m pare_backends.supervised pare_backends.serving [OPTIONS]`."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading

from pare_backends.failures import classify
from pare_backends.offline import guard
from pare_backends.serving.http_server import ModelServer
from pare_backends.serving.reader import TRANSFORMERS, Opening, open_served
from pare_backends.worker import set_threads


def options_of(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="pare_backends.serving", description=__doc__)
    parser.add_argument("artifact_dir")
    parser.add_argument("--name", required=True, help="by which requests ask for the model")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--weights-dir", help="of a setting: where its weights lie")
    parser.add_argument("--runtime", default=TRANSFORMERS)
    parser.add_argument("--form-dir", help="what make_form made; none: the checkpoint itself")
    parser.add_argument("--python", default=sys.executable, help="of the runtime's environment")
    parser.add_argument("--runtime-dir", help="of a third party's runtime: its Python half")
    parser.add_argument("--max-model-len", type=int, help="default: the model's own context")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """The process from its start to a signal. Returns the exit status."""
    options = options_of(words)
    guard()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    try:
        server = ModelServer(options.host, options.port)
        threading.Thread(target=server.serve_forever, name="serve", daemon=True).start()
        threads = set_threads(None)
        served = open_served(
            Opening(
                options.artifact_dir,
                options.weights_dir,
                options.runtime,
                options.form_dir,
                options.python,
                options.runtime_dir,
                threads,
                options.name,
                options.max_model_len,
            )
        )
    except (Exception, MemoryError) as error:
        failure = classify(error, f"serve {options.name}")
        print(failure.traceback or "", file=sys.stderr)
        print(f"{failure.kind}: {failure.message}", file=sys.stderr)
        if failure.hint is not None:
            print(failure.hint, file=sys.stderr)
        return 1
    print(f"{served.name} in {options.runtime}: {served.numerics}", file=sys.stderr, flush=True)
    server.served = served
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    # Threads that answer, and libraries' exit handlers, have nothing left to do.
    os._exit(status)
