"""Executes a notebook in a real Deno kernel and writes it with its outputs.

    python execute.py IN.ipynb OUT.ipynb SECONDS

The kernel is found through JUPYTER_PATH; a cell that throws fails the run.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

source, target, seconds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
notebook = nbformat.read(source, as_version=4)
client = NotebookClient(
    notebook,
    timeout=seconds,
    iopub_timeout=120,  # a busy machine sends outputs late; four seconds would drop them
    raise_on_iopub_timeout=True,
    kernel_name="deno",
    resources={"metadata": {"path": str(source.parent)}},
)
try:
    client.execute()
finally:
    nbformat.write(notebook, target)
