"""ik_llama.cpp in the process beside an evaluation: a program, started by `model.py`."""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection

from pare_backends.runtimes.ik_llama_cpp.decoder import IkLlamaCppDecoder
from pare_backends.runtimes.sequence_scorer import serve

if __name__ == "__main__":
    form_dir, threads, descriptor = sys.argv[1:]
    serve(Connection(int(descriptor)), lambda: IkLlamaCppDecoder(form_dir, int(threads)))
