"""Writes the valid files that only Python's libraries write: python_seeds.py FOLDER. A model with
a tokenizer of bytes, which a GGUF file can hold, that file, and rows of Parquet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from pare_backends.models.gguf.reading import open_gguf
from pare_backends.progress import silent_report
from pare_backends.runtimes.llama_cpp.make import write_gguf

ROWS = [
    {"question": "Two and two?", "rubrics": ["says four"], "weight": 1.5, "year": 2024},
    {"question": "Three and two?", "rubrics": [], "weight": None, "year": 2025},
]


def write_model(folder: Path) -> None:
    built = Tokenizer(models.BPE())
    byte_level: Any = pre_tokenizers.ByteLevel
    built.pre_tokenizer = byte_level(add_prefix_space=False)
    built.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=272, special_tokens=["<s>", "</s>"], initial_alphabet=byte_level.alphabet()
    )
    built.train_from_iterator(["the fox and the foxes live in the den"] * 9, trainer)
    whole = PreTrainedTokenizerFast(tokenizer_object=built, bos_token="<s>", eos_token="</s>")
    whole.save_pretrained(str(folder))
    config = LlamaConfig(
        vocab_size=272, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=64,
        bos_token_id=0, eos_token_id=1, tie_word_embeddings=False,
    )  # fmt: skip
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)


def main() -> None:
    folder = Path(sys.argv[1])
    write_model(folder / "original")
    made = folder / "made"
    made.mkdir()
    write_gguf(folder / "original", made, True, silent_report())
    reader = open_gguf(made / "model.gguf")
    (folder / "head_bytes").write_text(str(reader.data_offset))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), folder / "rows.parquet")


main()
