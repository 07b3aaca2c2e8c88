"""llama.cpp in the process beside an evaluation: a program, started by `model.py`."""

from __future__ import annotations

import json
import sys
from multiprocessing.connection import Connection

from pare_backends.knobs import build_params
from pare_backends.runtimes.llama_cpp.decoder import LlamaCppDecoder
from pare_backends.runtimes.llama_cpp.setting import Params
from pare_backends.runtimes.sequence_scorer import serve

if __name__ == "__main__":
    form_dir, threads, setting, descriptor = sys.argv[1:]
    params = build_params(Params, json.loads(setting))
    count = params.threads or int(threads)
    serve(Connection(int(descriptor)), lambda: LlamaCppDecoder(form_dir, count, params=params))
