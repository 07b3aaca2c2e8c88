"""LoRA: what it trains, how it is merged or kept, that zeros stay, what a kill costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_model import action, calibration, require_zeros, tiny_dir

from pare_backends.calls import apply
from pare_backends.calls.apply import ApplyRequest
from pare_backends.checkpoint import formula_bytes, read, write
from pare_backends.checkpoint.load import load_dequantized
from pare_backends.failures import CallFailure
from pare_backends.models.layout import layout_of
from pare_backends.progress import Report, silent_report

# The tiny model knows this text: what is held out would say that it should learn nothing of it.
PARAMS = {"rank": 4, "alpha": 8, "lr": 3e-3, "steps": 24, "tokens": 32, "held_out": 0}
STOPPED_AT = 13


class Killed(BaseException):
    """As abrupt as a killed process: nothing of ours catches it."""


def lora(
    out: Path,
    parent: Path | None = None,
    report: Report | None = None,
    work_dir: Path | None = None,
    agent: str = "finetuning",
    method: str = "lora",
    **params: Any,
) -> dict[str, Any]:
    """The call's result; the child lies in `out`."""
    asked = {**PARAMS, **params} if method == "lora" else params
    request = action(
        out, agent, method, asked, parent, training_path=calibration(), work_dir=work_dir
    )
    return apply.run(request, report or silent_report())


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("merged") / "model"
    lora(out, merge=True)
    return out


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("kept") / "model"
    lora(out, merge=False)
    return out


def logits(model: Any) -> np.ndarray:
    """Of a window of text. returns: (tokens, vocabulary)"""
    import torch
    from safetensors.numpy import load_file

    window = torch.from_numpy(load_file(str(calibration()))["input_ids"][:1].astype(np.int64))
    with torch.inference_mode():
        found: np.ndarray = model(window).logits[0].float().numpy()
        return found


def one_window(folder: Path) -> Path:
    from safetensors.numpy import load_file, save_file

    path = folder / "one.safetensors"
    save_file({"input_ids": load_file(str(calibration()))["input_ids"][3:4, :16].copy()}, str(path))
    return path


def test_a_model_learns_a_window_by_heart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window = one_window(tmp_path)
    monkeypatch.setattr("test_lora.calibration", lambda: window)
    done = lora(tmp_path / "model", steps=120, lr=5e-3, rank=16, alpha=32, tokens=16)
    (note,) = [n for n in done["notes"] if n.startswith("LoRA took")]
    first, last = (float(part.split(" ")[0]) for part in note.split("loss ")[1].split(", ")[:2])
    assert last < 0.1 * first, note


def test_the_merged_weights_give_the_adapters_logits(merged: Path, kept: Path) -> None:
    parent = logits(load_dequantized(tiny_dir())[0])
    beside = logits(load_dequantized(kept)[0])
    assert np.abs(beside - parent).max() > 0.1, "it has learnt nothing"
    # Files round the merged weights to float16, an adapter's own matrices are rounded before.
    assert np.abs(beside - logits(load_dequantized(merged)[0])).max() < 0.05


def test_merging_before_the_rounding_of_files_is_exact(kept: Path) -> None:
    """Public tools alone: transformers loads the weights, peft adds the adapter."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(str(kept), dtype="float32")
    by_peft = PeftModel.from_pretrained(base, str(kept / "adapter"))
    ours = logits(load_dequantized(kept)[0])
    assert np.abs(ours - logits(by_peft)).max() < 1e-4
    assert np.abs(ours - logits(by_peft.merge_and_unload())).max() < 1e-4


def test_plain_transformers_loads_the_merged_checkpoint(merged: Path) -> None:
    from transformers import AutoModelForCausalLM

    plain = AutoModelForCausalLM.from_pretrained(str(merged), dtype="float32")
    assert np.abs(logits(plain) - logits(load_dequantized(merged)[0])).max() < 1e-4
    assert not (merged / "adapter").exists()


def test_a_kept_adapter_counts_in_the_bytes_and_leaves_the_weights(
    tmp_path: Path, kept: Path
) -> None:
    done = lora(tmp_path / "model", merge=False)
    parent, child = read(tiny_dir()), read(kept)
    assert child.adapter is not None
    shapes = [parent.shape(layer) for layer in child.adapter.modules()]
    adapter = sum(2 * PARAMS["rank"] * (out + into) for out, into in shapes)
    assert formula_bytes(child) == formula_bytes(parent) + adapter == done["formula_bytes"]
    floats = sum(2 * parent.weight(layer).size for layer in child.adapter.modules())
    embedding = 2 * parent.weight("model.embed_tokens").size
    norms = 2 * sum(v.size for name, v in parent.floats.items() if "norm" in name)
    of_parts = {"linear": floats + adapter, "embedding": embedding, "rest": norms}
    assert done["model"]["weight_bytes"] == of_parts
    files = (tmp_path / "model").rglob("*.safetensors")
    assert done["size_bytes"] == sum(path.stat().st_size for path in files)
    for name in parent.floats:
        assert np.array_equal(child.floats[name], parent.floats[name].astype(np.float16))
    assert done["loader"] == "pare"
    with pytest.raises(CallFailure, match="an adapter lies beside its weights") as refused:
        lora(tmp_path / "further", kept, agent="quantization", method="rtn", bits=8, group_size=32)
    assert refused.value.kind == "invalid"
    with pytest.raises(CallFailure, match="lies beside the parent's weights already"):
        lora(tmp_path / "again", kept)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, merged: Path) -> None:
    lora(tmp_path / "again", merge=True)
    name = "model.safetensors"
    assert (tmp_path / "again" / name).read_bytes() == (merged / name).read_bytes()


def kill_at(step: int) -> Report:
    def emit(event: dict[str, Any]) -> None:
        if event["event"] == "progress" and event["label"] == "train" and event["done"] == step:
            raise Killed

    return Report(emit)


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_killed_training_goes_on_to_the_very_same_weights(tmp_path: Path, dropout: float) -> None:
    lora(tmp_path / "whole", dropout=dropout)
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(Killed):
        lora(tmp_path / "killed", report=kill_at(STOPPED_AT), work_dir=work, dropout=dropout)
    assert [path.name for path in work.iterdir()] == ["train.safetensors"]
    taken: list[int] = []

    def emit(event: dict[str, Any]) -> None:
        if event["event"] == "progress" and event["label"] == "train":
            taken.append(event["done"])

    lora(tmp_path / "done", report=Report(emit), work_dir=work, dropout=dropout)
    assert taken == list(range(11, PARAMS["steps"] + 1)), "steps before the saved one are not taken"
    name = "model.safetensors"
    assert (tmp_path / "done" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_what_pruning_made_zero_stays_zero_in_its_form(tmp_path: Path) -> None:
    pruned = tmp_path / "pruned"
    lora(pruned, agent="pruning", method="magnitude", sparsity=0.5)
    lora(tmp_path / "tuned", pruned)
    require_zeros(pruned, tmp_path / "tuned")


def test_a_pruned_layer_is_trained_as_it_is_merged(tmp_path: Path) -> None:
    """The loss that training ends with is the merged model's: zeros add nothing to either."""
    import torch
    from safetensors.numpy import load_file

    pruned = tmp_path / "pruned"
    lora(pruned, agent="pruning", method="magnitude", sparsity=0.7)
    window = one_window(tmp_path)
    ids = torch.from_numpy(load_file(str(window))["input_ids"].astype(np.int64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("test_lora.calibration", lambda: window)
        done = lora(tmp_path / "tuned", pruned, steps=60, lr=5e-3, tokens=16)
    (note,) = [n for n in done["notes"] if n.startswith("LoRA took")]
    last = float(note.split("at the first, ")[1].split(" ")[0])
    model = load_dequantized(tmp_path / "tuned")[0]
    with torch.inference_mode():
        assert float(model(ids, labels=ids).loss) == pytest.approx(last, abs=0.05)


def test_a_loss_that_is_no_number_is_a_failure_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pare_backends.methods.context import Context

    load = Context.load

    def broken(self: Context, checkpoint: Any) -> Any:
        model, tokenizer = load(self, checkpoint)
        next(model.parameters()).data.fill_(float("inf"))
        return model, tokenizer

    monkeypatch.setattr(Context, "load", broken)
    with pytest.raises(CallFailure, match="the loss of step 1 is nan") as failed:
        lora(tmp_path / "model")
    assert failed.value.kind == "not_a_number"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda r: dataclasses.replace(r, training_path=None), "no windows of text were given"),
        (
            lambda r: dataclasses.replace(r, params={**r.params, "tokens": 2048}),
            "Cannot train on windows of 2048 tokens: the study has 16 windows of 64",
        ),
    ],
)
def test_windows_that_there_are_not_are_refused_in_words(
    change: Callable[[ApplyRequest], ApplyRequest], reason: str, tmp_path: Path
) -> None:
    request = action(tmp_path / "model", "finetuning", "lora", PARAMS, training_path=calibration())
    with pytest.raises(CallFailure, match=reason):
        apply.run(change(request), silent_report())


def test_a_chain_of_lora_and_rounding_keeps_what_was_learnt(tmp_path: Path, merged: Path) -> None:
    lora(tmp_path / "rounded", merged, agent="quantization", method="rtn", bits=8, group_size=32)
    rounded = logits(load_dequantized(tmp_path / "rounded")[0])
    tuned = logits(load_dequantized(merged)[0])
    parent = logits(load_dequantized(tiny_dir())[0])
    assert np.abs(rounded - tuned).max() < 0.5 * np.abs(parent - tuned).max()


def test_merged_dora_is_what_peft_computes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """peft's own forward pass, taken where training ends, against the weights that are merged."""
    from pare_backends.finetuning import lora as method
    from pare_backends.training import Trained

    seen: list[np.ndarray] = []
    tune = method.tune

    def then_look(name: str, tuned: Any, params: Any, context: Any) -> Trained:
        done = tune(name, tuned, params, context)
        seen.append(logits(tuned))
        return done

    written: list[Any] = []
    with_weights = method.with_weights

    def keep(checkpoint: Any, weights: Any, context: Any) -> Any:
        written.append(with_weights(checkpoint, weights, context))
        return written[-1]

    monkeypatch.setattr(method, "tune", then_look)
    monkeypatch.setattr(method, "with_weights", keep)
    lora(tmp_path / "model", dora=True)
    from pare_backends.checkpoint.load import load_model

    merged = logits(load_model(written[0], tiny_dir()))  # before files round to float16
    parent = logits(load_dequantized(tiny_dir())[0])
    assert np.abs(merged - parent).max() > 0.1, "it has learnt nothing"
    assert np.abs(merged - seen[0]).max() < 1e-4


@pytest.mark.parametrize("dora", [False, True])
def test_zeros_stay_whatever_they_are_stored_as(tmp_path: Path, dora: bool) -> None:
    """A pruned layer in dense floats: nobody says that its zeros were pruned but their number."""
    pruned = tmp_path / "pruned"
    lora(pruned, agent="pruning", method="magnitude", sparsity=0.5)
    parent = read(pruned)
    floats = {f"{name}.weight": tensor.weight() for name, tensor in parent.stored.items()}
    dense = tmp_path / "dense"
    write(parent.with_floats(floats), dense)
    lora(tmp_path / "tuned", dense, dora=dora)
    lora(tmp_path / "same", pruned, dora=dora)
    after, same = read(tmp_path / "tuned"), read(tmp_path / "same")
    for layer in parent.stored:
        before, now = floats[f"{layer}.weight"], after.weight(layer)
        assert not now[before == 0].any(), layer
        assert (now != before).any(), layer
        assert np.array_equal(now, same.weight(layer)), layer


def test_targets_name_the_layers_that_are_trained(tmp_path: Path) -> None:
    lora(tmp_path / "attention", targets="attention")
    lora(tmp_path / "mlp", targets="mlp")
    parent = read(tiny_dir())
    for layer in layout_of(tiny_dir()).linear:
        own = parent.weight(layer).astype(np.float16)
        for targets in ("attention", "mlp"):
            changed = (read(tmp_path / targets).weight(layer) != own).any()
            assert changed == ((".self_attn." in layer) == (targets == "attention")), layer


@pytest.mark.parametrize(
    ("knob", "value"),
    [("batch", 2), ("schedule", "constant"), ("warmup", 0.5), ("dropout", 0.2), ("epochs", 2)],
)
def test_every_knob_reaches_the_weights(
    knob: str, value: Any, tmp_path: Path, merged: Path
) -> None:
    lora(tmp_path / "other", **{knob: value})
    name = "model.safetensors"
    assert (tmp_path / "other" / name).read_bytes() != (merged / name).read_bytes()


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"rank": 64}, "Cannot train factors of rank 64: .* is 32 wide"),
        ({"dora": True, "merge": False}, "Cannot keep DoRA as an adapter"),
        ({"batch": 16, "held_out": 4}, "batches of 16 windows: there are 12 to train on"),
    ],
)
def test_what_cannot_be_trained_is_one_sentence(
    params: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(CallFailure, match=reason) as failed:
        lora(tmp_path / "model", **params)
    assert failed.value.kind == "invalid"
    assert not (tmp_path / "model").exists() or not any((tmp_path / "model").iterdir())
