"""Prints how far llama.cpp's logits of a random Llama 4 are from transformers', over a text that is
longer than a chunk, and how far other chunks and no temperature would be: a JSON object."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
from architecture_variants import VARIANTS
from runtime_fixtures import folder, four_bit_model, worker_environment
from test_gguf import written
from test_llama_cpp import interpreter

from pare_backends.calls import prove_runtime

CHUNK, TOKENS = 8192, 8260
LONG = {
    "num_hidden_layers": 4, "num_attention_heads": 2, "num_key_value_heads": 1,
    "max_position_embeddings": 16384,
    "rope_parameters": {"rope_type": "default", "rope_theta": 5e5},
}  # fmt: skip
READS = """
import sys
import numpy as np
from pare_backends.runtimes.llama_cpp.decoder import STRICT, LlamaCppDecoder
tokens = np.load(sys.argv[2])
decoder = LlamaCppDecoder(sys.argv[1], 1, context_tokens=len(tokens), params=STRICT)
np.save(sys.argv[3], decoder.append(tokens, len(tokens)))
"""


def of_llama_cpp(directory: Path, tokens: np.ndarray) -> np.ndarray:
    file, _ = written(directory, exact=True)
    text, found = folder() / "tokens.npy", folder() / "logits.npy"
    np.save(text, tokens)
    command = [interpreter(), "-c", READS, str(file), str(text), str(found)]
    subprocess.run(command, check=True, capture_output=True, env=worker_environment())
    return np.asarray(np.load(found))


def of_transformers(directory: Path, tokens: np.ndarray, **changes: int) -> np.ndarray:
    """Of the model with other settings."""
    path = directory / "config.json"
    own = path.read_text()
    path.write_text(json.dumps({**json.loads(own), **changes}))
    try:
        return prove_runtime.torch_logits(str(directory), tokens)[0]
    finally:
        path.write_text(own)


def main() -> None:
    VARIANTS["Llama4ForCausalLM"]["-long"] = LONG
    directory = four_bit_model("Llama4ForCausalLM", "-long")
    tokens = np.random.default_rng(0).integers(0, 320, TOKENS)
    plain = of_transformers(directory, tokens)
    others = {
        "difference": of_llama_cpp(directory, tokens),
        "other_chunks": of_transformers(directory, tokens, attention_chunk_size=2 * CHUNK),
        "no_temperature": of_transformers(directory, tokens, floor_scale=2 * CHUNK),
    }
    told = {name: float(np.abs(one - plain)[CHUNK:].max()) for name, one in others.items()}
    told["before"] = float(np.abs(others["difference"] - plain)[:CHUNK].max())
    print(json.dumps(told))


if __name__ == "__main__":
    main()
