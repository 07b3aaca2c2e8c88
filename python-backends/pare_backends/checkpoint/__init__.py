"""A model directory on disk and in memory: what every method reads and writes.

Reading and writing need numpy alone, so a runtime's process can have a trial's own integers and
scales without importing torch; `load_dequantized` imports torch and transformers.
"""

from pare_backends.checkpoint.files import Checkpoint, read, weight_files, write
from pare_backends.checkpoint.forms import (
    BitmaskTensor,
    GgmlTensor,
    GridTensor,
    LatticeTensor,
    SeedTensor,
    StoredTensor,
    TableTensor,
    VectorTensor,
)
from pare_backends.checkpoint.load import load_dequantized
from pare_backends.checkpoint.size import formula_bytes, weight_bits

__all__ = [
    "BitmaskTensor",
    "Checkpoint",
    "GgmlTensor",
    "GridTensor",
    "LatticeTensor",
    "SeedTensor",
    "StoredTensor",
    "TableTensor",
    "VectorTensor",
    "formula_bytes",
    "load_dequantized",
    "read",
    "weight_bits",
    "weight_files",
    "write",
]
