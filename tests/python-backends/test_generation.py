"""Greedy generations in packed rows beside transformers' own search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from evaluation_fixtures import Events, words
from lm_eval.api.instance import Instance

from pare_backends.checkpoint import load_dequantized
from pare_backends.evaluation.packed import generation, packed_generator
from pare_backends.evaluation.packed.forward import prefix_cache
from pare_backends.evaluation.packed.generation import Decoding, generate_packed
from pare_backends.evaluation.packed.language_model import PackedLM

TOKENS = 24


def language_model(model_dir: Path, batch_size: int = 4) -> PackedLM:
    return PackedLM(*load_dequantized(model_dir), batch_size, Events().report)


def asked(until: list[str], shared: str = "", **options: Any) -> list[Instance]:
    """Seven prompts of different lengths, two of them alike, that begin with the same words."""
    kwargs = {"max_gen_toks": TOKENS, "until": until, "do_sample": False, **options}
    prompts = [f"{shared} {words(3 + 4 * n, n)}".strip() for n in range(6)]
    return [
        Instance("generate_until", {}, (p, dict(kwargs)), i)
        for i, p in enumerate([*prompts, prompts[2]])
    ]


def padded(model: PackedLM, requests: list[Instance]) -> list[str]:
    """By transformers' own search, one prompt at a time: no batch, no padding."""
    model._generates_packed, model._packs = False, True
    return [text for one in requests for text in model.generate_until([one])]


def frequent_word(model: PackedLM) -> str:
    """A word that some generations have and others have not, as a stop sequence."""
    texts = padded(model, asked(["<never>"]))
    seen = {word: sum(word in text.split() for text in texts) for t in texts for word in t.split()}
    return min((word for word, count in seen.items() if count < len(texts)), key=lambda w: -seen[w])


@pytest.mark.parametrize("shared_words", [0, 90])
@pytest.mark.parametrize("row_tokens", [8192, 60])
def test_packed_generations_are_those_of_transformers(
    shared_words: int, row_tokens: int, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed_generator, "ROW_TOKENS", row_tokens)
    monkeypatch.setattr(generation, "RESERVED_STEPS", 5 if row_tokens == 8192 else 128)
    model = language_model(model_dir)
    shared = words(shared_words) if shared_words else ""
    for until in (["<never>"], [frequent_word(language_model(model_dir)), "\n\n"]):
        requests = asked(until, shared)
        found = model.generate_until(requests)
        assert model._generates_packed
        assert (len(model._generator._prefix) > 0) == (shared_words == 90)
        assert found == padded(language_model(model_dir), requests)
        if until != ["<never>"]:
            assert len({len(text) for text in found}) > 2  # they ended at different times


def test_a_generation_ends_where_the_model_ends_it(model_dir: Path) -> None:
    model, plain = language_model(model_dir), language_model(model_dir)
    end = model.tok_encode(frequent_word(language_model(model_dir)))[0]
    for one in (model, plain):
        one.model.generation_config.eos_token_id = [end, 5]
    requests = asked(["<never>"])
    found = model.generate_until(requests)
    assert model._generates_packed
    assert found == padded(plain, requests)
    assert len({len(text) for text in found}) > 2


def test_settings_of_a_model_that_change_a_search_leave_it_to_transformers(
    model_dir: Path,
) -> None:
    model, plain = language_model(model_dir), language_model(model_dir)
    requests = asked(["<never>"])
    usual = model.generate_until(requests)
    for one in (model, plain):
        one.model.generation_config.repetition_penalty = 1.8
    found = model.generate_until(requests)
    assert not model._can_pack([(1, 2, 3)], {"do_sample": False})
    plain._generates_packed, plain._packs = False, True
    assert found == plain.generate_until(requests)  # the penalty counts padding: in one batch
    assert found != usual


def test_a_model_that_forgets_tokens_is_left_to_transformers(tmp_path: Path) -> None:
    from transformers import MistralConfig, MistralForCausalLM

    from pare_backends.models.tiny import write_tokenizer

    tokenizer = write_tokenizer(tmp_path)
    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        sliding_window=8,
        max_position_embeddings=256,
    )
    MistralForCausalLM(config).save_pretrained(tmp_path)
    model = language_model(tmp_path)
    requests = asked(["<never>"])
    assert model.generate_until(requests) == padded(language_model(tmp_path), requests)
    assert not model._can_pack([(1, 2, 3)], {"do_sample": False})


def test_a_sequence_sees_the_prefix_and_itself_alone(model_dir: Path) -> None:
    model, tokenizer = load_dequantized(model_dir)
    prefix = tokenizer.encode(words(20, 3))
    prompts = [tokenizer.encode(words(4, n)) for n in (5, 6, 7)]
    decoding = Decoding(8, frozenset(), lambda made: made[-1] % 3 == 0, "a test")
    with torch.no_grad():
        cache = prefix_cache(model, prefix)
        together = generate_packed(model, len(prefix), cache, prompts, decoding, lambda _: None)
        alone = [
            generate_packed(model, 0, None, [[*prefix, *p]], decoding, lambda _: None)[0]
            for p in prompts
        ]
    assert together == alone
    assert cache.get_seq_length() == len(prefix)


def test_progress_tells_parts_of_generations(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pare_backends.evaluation.packed import language_model as module

    monkeypatch.setattr(module, "SECONDS_BETWEEN_PROGRESS", 0)
    events = Events()
    model = PackedLM(*load_dequantized(model_dir), 4, events.report)
    model.generate_until(asked(["<never>"]))
    done = [event["done"] for event in events.named("progress")]
    assert done == sorted(done)
    assert done[-1] == 7
    assert {event["total"] for event in events.named("progress")} == {7}
    assert any(value % 1 for value in done)
