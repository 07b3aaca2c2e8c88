"""A GGUF file as a model: every tensor and setting of it is taken, or it is refused by its name."""

from __future__ import annotations

import functools
import json
import re
import shutil
import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf import GGUFReader, GGUFValueType, GGUFWriter
from runtime_fixtures import folder, four_bit_model
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
)

from pare_backends.calls.import_model import ImportModelRequest, run
from pare_backends.checkpoint import load_dequantized
from pare_backends.failures import CallFailure
from pare_backends.models.gguf.file import load_gguf_model
from pare_backends.models.gguf.reading import open_gguf
from pare_backends.models.gguf.rope import llama3_factors, llama3_figures, rope_scaling
from pare_backends.models.gguf.settings import take_fields, take_rope
from pare_backends.progress import silent_report
from pare_backends.runtimes.llama_cpp.make import write_gguf

LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
}  # fmt: skip
IDS = torch.from_numpy(np.random.default_rng(0).integers(0, 280, (1, 500)))


def write_tokenizer(directory: Path) -> None:
    """Byte-level BPE over three sentences, cut as GPT-2 cuts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    built = Tokenizer(models.BPE())
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<s>", "</s>", "<eot>"],
        initial_alphabet=alphabet,
    )
    built.train_from_iterator(["12345 12345 the fox", "12345 foxes live in the den"] * 9, trainer)
    whole = PreTrainedTokenizerFast(tokenizer_object=built, bos_token="<s>", eos_token="</s>")
    whole.save_pretrained(str(directory))


@functools.cache
def source(scaled: bool) -> Path:
    """A checkpoint of random weights with a tokenizer."""
    directory = folder() / f"gguf-source-{scaled}"
    rope = LLAMA3 if scaled else {"rope_type": "default", "rope_theta": 10_000.0}
    config = LlamaConfig(
        vocab_size=320, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
        bos_token_id=0, eos_token_id=1, rope_parameters=rope, tie_word_embeddings=False,
    )  # fmt: skip
    torch.manual_seed(0)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(1.0, 0.1) if parameter.dim() == 1 else parameter.normal_(0.0, 0.2)
    model.save_pretrained(directory)
    write_tokenizer(directory)
    return directory


@functools.cache
def whole(scaled: bool = False) -> Path:
    """The same as one GGUF file in float32."""
    output = folder() / f"gguf-whole-{scaled}"
    output.mkdir(exist_ok=True)
    write_gguf(source(scaled), output, True, silent_report())
    return output / "model.gguf"


def rewritten(
    path: Path,
    keys: dict[str, Any] | None = None,
    without: str | tuple[str, ...] = (),
    tensors: dict[str, np.ndarray] | None = None,
    given: Path | None = None,
    words: list[str] | None = None,
    **options: Any,
) -> Path:
    """The file with other keys and tensors."""
    reader = GGUFReader(given or whole())
    writer = GGUFWriter(path, "llama", **options)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture" or name in (keys or {}):
            continue
        inner = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], sub_type=inner)
    kinds = {bool: "BOOL", int: "UINT32", float: "FLOAT32", str: "STRING"}
    for name, value in (keys or {}).items():
        writer.add_key_value(name, value, GGUFValueType[kinds[type(value)]])
    if words is not None:
        writer.add_token_list(words)
    for one in reader.tensors:
        if one.name not in ((without,) if isinstance(without, str) else without):
            writer.add_tensor(one.name, one.data, raw_dtype=one.tensor_type)
    for name, values in (tensors or {}).items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def imported(path: Path, out: Path) -> dict[str, Any]:
    return run(ImportModelRequest(str(path), str(out), False), silent_report())


def refused(path: Path, out: Path) -> str:
    with pytest.raises(CallFailure) as caught:
        imported(path, out)
    assert caught.value.kind == "bad_input" and caught.value.hint is not None
    assert not out.exists() or not any(out.iterdir()), "something half-written is left"
    return caught.value.message


def furthest(out: Path, scaled: bool) -> float:
    """Largest difference of a logit from the model that the file was written of."""
    wanted = AutoModelForCausalLM.from_pretrained(str(source(scaled)), dtype=torch.float32)
    with torch.inference_mode():
        own = load_dequantized(out)[0](IDS).logits
        return float((own - wanted(IDS).logits).abs().max())


def test_a_file_is_the_model_that_it_was_written_of(tmp_path: Path) -> None:
    facts = imported(whole(), tmp_path / "out")
    assert facts["notes"] == [] and furthest(tmp_path / "out", False) < 1e-4


def test_a_header_that_is_open_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = open_gguf(whole())
    monkeypatch.setattr(gguf, "GGUFReader", None)
    assert load_gguf_model(whole(), [reader]).config.num_hidden_layers == len(
        [one for one in reader.tensors if one.name.endswith("attn_q.weight")]
    )


@pytest.mark.parametrize("named", ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf"])
def test_every_file_of_a_split_model_is_read(tmp_path: Path, named: str) -> None:
    rewritten(tmp_path / "m.gguf", split_max_tensors=9)
    parts = sorted(tmp_path.glob("m-*.gguf"))
    assert len(parts) == 3
    facts = imported(tmp_path / named, tmp_path / "out")
    assert furthest(tmp_path / "out", False) < 1e-4
    assert facts["original_bytes"] == sum(part.stat().st_size for part in parts)
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {
        ".json",
        ".safetensors",
    }
    parts[2].write_bytes(parts[2].read_bytes() + b"\0" * 32)
    assert imported(tmp_path / named, tmp_path / "again")["revision"] != facts["revision"]
    parts[2].unlink()
    assert f"3 files of a model, and {parts[2].name} is missing" in refused(
        tmp_path / named, tmp_path / "half"
    )
    parts[0].rename(tmp_path / "whole.gguf")
    assert "file 1 of 3, by its name 1 of 1" in refused(tmp_path / "whole.gguf", tmp_path / "one")


@pytest.mark.parametrize("name", ["blk.1.ffn_up.weight", "output_norm.weight"])
def test_a_tensor_that_is_not_there_is_not_drawn(tmp_path: Path, name: str) -> None:
    path = rewritten(tmp_path / "m.gguf", without=name)
    assert f"it holds no tensor {name} (1 are missing)" in refused(path, tmp_path / "out")


def test_a_tensor_that_nothing_reads_is_told(tmp_path: Path) -> None:
    extra = {"blk.0.attn_q_norm.weight": np.ones(16, np.float32)}
    said = refused(rewritten(tmp_path / "m.gguf", tensors=extra), tmp_path / "out")
    assert "it holds blk.0.attn_q_norm.weight, which transformers does not read" in said


def test_biases_are_known_by_their_tensors(tmp_path: Path) -> None:
    widths = {"attn_q": 64, "attn_k": 32, "attn_v": 32, "attn_output": 64}
    biases = {
        f"blk.{block}.{name}.bias": np.linspace(-1, 1, width, dtype=np.float32)
        for name, width in widths.items()
        for block in (0, 1)
    }
    imported(rewritten(tmp_path / "m.gguf", tensors=biases), tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["attention_bias"] is True
    assert furthest(tmp_path / "out", False) > 0.1


def test_a_longer_context_of_llama_3_is_kept(tmp_path: Path) -> None:
    """Right without it for short texts: only the waves of far positions are stretched."""
    imported(whole(True), tmp_path / "out")
    rope = json.loads((tmp_path / "out" / "config.json").read_text())["rope_parameters"]
    assert rope == {**LLAMA3, "rope_theta": pytest.approx(LLAMA3["rope_theta"])}
    assert furthest(tmp_path / "out", True) < 1e-4


@pytest.mark.parametrize(("factor", "old"), [(8.0, 8192), (32.0, 8192), (4.0, 1000)])
@pytest.mark.parametrize("width", [16, 64, 128])
def test_the_figures_of_llama_3_are_found_from_its_divisors(
    factor: float, old: int, width: int
) -> None:
    waves = 2 * np.pi * 500_000.0 ** (np.arange(0, width, 2) / width)
    factors = llama3_factors(waves, factor, old).astype(np.float32).astype(np.float64)
    found = llama3_figures(factors, 500_000.0, width)
    assert found is not None and found["factor"] == factor
    made = llama3_factors(waves, factor, found["original_max_position_embeddings"])
    np.testing.assert_allclose(made, factors, rtol=1e-4)
    if width == 128:  # enough waves between the two limits
        assert found["original_max_position_embeddings"] == old
    assert llama3_figures(factors[::-1], 500_000.0, width) is None


def test_scaling_by_keys_is_taken_or_told(tmp_path: Path) -> None:
    yarn = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}
    old = {"rope.scaling.original_context_length": 128}
    given = {"original_max_position_embeddings": 128}
    for said, wanted in (
        ({}, {}),
        ({"rope.scaling.type": "none", "rope.scaling.factor": 4.0}, {}),
        ({"rope.scaling.factor": 4.0}, {"rope_type": "linear", "factor": 4.0}),
        ({"rope.scale_linear": 2.0}, {"rope_type": "linear", "factor": 2.0}),
        (yarn | old, {"rope_type": "yarn", "factor": 4.0, **given}),
    ):
        assert rope_scaling(said, None, 1e4, 16) == wanted
    for said, why in (
        (yarn, "original_context_length is missing"),
        (yarn | old | {"rope.scaling.attn_factor": 1.5}, "attn_factor is 1.5"),
        (
            {"rope.scaling.type": "longrope", "rope.scaling.factor": 4.0},
            "type is longrope",
        ),
    ):
        with pytest.raises(ValueError, match=why):
            rope_scaling(said, None, 1e4, 16)
    keys = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}
    imported(rewritten(tmp_path / "m.gguf", keys), tmp_path / "out")
    rope = json.loads((tmp_path / "out" / "config.json").read_text())["rope_parameters"]
    assert (rope["rope_type"], rope["factor"]) == ("linear", 4.0)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("llama.expert_count", 8),
        ("llama.attention.sliding_window", 64),
        ("llama.attention.scale", 0.5),
        ("llama.rope.dimension_count", 8),
        ("llama.attention.value_length", 32),
        ("llama.block_count", 10**9),
        ("llama.rope.freq_base_swa", 1e4),
        ("llama.rope.dimension_count_swa", 16),
    ],
)
def test_a_setting_that_transformers_passes_over_is_told(
    tmp_path: Path, key: str, value: int | float
) -> None:
    said = refused(rewritten(tmp_path / "m.gguf", {key: value}), tmp_path / "out")
    if key != "llama.rope.dimension_count":  # the width of a head too, as transformers has it
        assert key.removeprefix("llama.") in said and str(value) in said


def test_heads_that_do_not_divide_the_width_are_told(tmp_path: Path) -> None:
    heads = {"llama.attention.head_count": 16_386}
    said = refused(rewritten(tmp_path / "m.gguf", heads), tmp_path / "out")
    assert "is not a multiple of the number of attention heads (16386)" in said


def test_each_way_of_rotating_is_told_apart() -> None:
    """Gemma 3 rotates otherwise where it sees its neighbours alone; Bloom says what follows."""
    from transformers import AutoConfig

    sizes = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    gemma = AutoConfig.for_model("gemma3_text", **sizes, num_key_value_heads=2, head_dim=16)
    linear = {"rope.scaling.type": "linear", "rope.scaling.factor": 8.0}
    said = {"rope.freq_base": 5e5, "rope.freq_base_swa": 2e4, **linear}
    take_fields(gemma, "gemma3", said | {"attention.sliding_window": 64})
    take_rope(gemma, said, None)
    rope = gemma.rope_parameters
    assert rope["full_attention"] == {"rope_type": "linear", "factor": 8.0, "rope_theta": 5e5}
    assert rope["sliding_attention"] == {"rope_type": "default", "rope_theta": 2e4}
    bloom = AutoConfig.for_model("bloom", **sizes)
    take_fields(bloom, "bloom", {"feed_forward_length": 128, "attention.head_count_kv": 4})
    with pytest.raises(ValueError, match="feed_forward_length: 64"):
        take_fields(bloom, "bloom", {"feed_forward_length": 64})


@pytest.mark.parametrize(
    ("found", "put"),
    [
        (b"tokenizer.ggml.bos_token_id", b"tokenizer.ggml.box_token_id"),
        ("Ġ f".encode(), "Ġ \x01".encode()),
    ],
    ids=["key", "merge"],
)
def test_a_tokenizer_that_cannot_be_made_is_told(tmp_path: Path, found: bytes, put: bytes) -> None:
    held = whole().read_bytes()
    assert held.count(found) > 0
    damaged = tmp_path / "m.gguf"
    damaged.write_bytes(held.replace(found, put, 1))
    assert "its tokenizer: " in refused(damaged, tmp_path / "out")


def test_a_text_that_is_none_is_told(tmp_path: Path) -> None:
    damaged = tmp_path / "m.gguf"
    damaged.write_bytes(whole().read_bytes().replace(b"gpt-2", b"gpt\xff2", 1))
    assert "a text in its header" in refused(damaged, tmp_path / "out")


def test_the_tokenizer_cuts_and_marks_as_the_file_says(tmp_path: Path) -> None:
    text = "12345 foxes"
    found = {}
    for cut in ("gpt-2", "llama-bpe", "smollm"):
        keys = {
            "tokenizer.ggml.pre": cut,
            "tokenizer.ggml.add_bos_token": cut == "llama-bpe",
        }
        assert imported(rewritten(tmp_path / cut, keys).rename(tmp_path / f"{cut}.gguf"),
                        tmp_path / f"{cut}-out")["notes"] == []  # fmt: skip
        tokenizer = AutoTokenizer.from_pretrained(str(tmp_path / f"{cut}-out"))
        found[cut] = tokenizer.convert_ids_to_tokens(tokenizer(text).input_ids)
        assert tokenizer.decode(tokenizer(text).input_ids, skip_special_tokens=True) == text
    assert found["gpt-2"][0] == "12345"
    assert found["llama-bpe"][:1] == ["<s>"] and "".join(found["llama-bpe"][1:]).startswith("12345")
    assert "12345" not in found["llama-bpe"] and found["smollm"][:5] == list("12345")
    other = rewritten(tmp_path / "m.gguf", {"tokenizer.ggml.pre": "viking"})
    assert "viking" in imported(other, tmp_path / "other")["notes"][0]


def test_every_end_of_the_file_ends_a_generation(tmp_path: Path) -> None:
    path = rewritten(tmp_path / "m.gguf", {"tokenizer.ggml.eot_token_id": 2})
    imported(path, tmp_path / "out")
    said = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert said["eos_token_id"] == [1, 2]


def test_headers_that_have_no_end_are_refused(tmp_path: Path) -> None:
    start, name = b"GGUF" + struct.pack("<IQQ", 3, 0, 1), struct.pack("<Q", 1) + b"a"
    nested = struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 20_000
    endless = struct.pack("<I", 9) + struct.pack("<IQ", 0, 2**60)
    for number, rest in enumerate((nested, endless, struct.pack("<IQ", 8, 2**60))):
        path = tmp_path / f"{number}.gguf"
        path.write_bytes(start + name + rest)
        with pytest.raises(CallFailure, match=path.name):
            open_gguf(path)
        assert path.name in refused(path, tmp_path / "out")
    shutil.rmtree(tmp_path / "out", ignore_errors=True)


def test_gpt_oss_is_refused_in_a_sentence_where_transformers_misreads_it(tmp_path: Path) -> None:
    """Imported, and opened as what was written."""
    four_bit_model("GptOssForCausalLM")
    floats = folder() / "GptOssForCausalLM-floats"
    write_gguf(floats, tmp_path, True, silent_report())
    path = tmp_path / "model.gguf"
    why = r"takes the lengths of gpt-oss's rope\.scaling keys for their values"
    assert re.search(rf"^Cannot read model\.gguf: .*{why}", refused(path, tmp_path / "out"))
    with pytest.raises(ValueError, match=why):
        load_gguf_model(path, [open_gguf(path)])
