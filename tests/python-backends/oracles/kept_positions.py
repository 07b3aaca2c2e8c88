"""Records which positions kvpress keeps of a tiny model's cache, for test_cache_oracles.py
and test_snapkv.py: run once, its result is kept.

python -m venv FOLDER && FOLDER/bin/pip install 'torch==2.13.0' kvpress==0.5.5
FOLDER/bin/python kept_positions.py > kept_positions.json

Weights and tokens are drawn by numpy, name by name, so that every version of transformers has them.
"""

import json
from importlib.metadata import version

import numpy as np
import torch
import transformers

TOKENS, VOCABULARY = 120, 97
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
}


def model_of(architecture: str) -> torch.nn.Module:
    """A model of random weights in float64, with keys that differ: sharp attention."""
    config = {"llama": transformers.LlamaConfig, "qwen3": transformers.Qwen3Config}[architecture]
    model = transformers.AutoModelForCausalLM.from_config(config(**SHAPE)).double().eval()
    draw = np.random.default_rng(3)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            drawn = draw.standard_normal(tuple(parameter.shape))
            drawn = 1 + 0.2 * drawn if parameter.dim() == 1 else 0.4 * drawn
            parameter.copy_(torch.from_numpy(drawn))
    return model


def tokens() -> torch.Tensor:
    """returns: (1, TOKENS) int64"""
    drawn = np.random.default_rng(4).integers(0, VOCABULARY, (1, TOKENS))
    return torch.from_numpy(drawn)


def kept(model: torch.nn.Module, press: object) -> list[list[str]]:
    """Positions by layer and head, ascending: where in the whole cache each kept key stands."""
    whole = model(tokens(), use_cache=True).past_key_values
    cut = transformers.DynamicCache(config=model.config)
    with press(model):  # type: ignore[operator]
        model(tokens(), past_key_values=cut, use_cache=True)
    found = []
    for own, all_of_it in zip(cut.layers, whole.layers, strict=True):
        same = (own.keys[0][:, :, None] == all_of_it.keys[0][:, None]).all(dim=-1)  # (K, N, T)
        assert bool((same.sum(-1) == 1).all()), "a kept key must stand at one place"
        places = same.int().argmax(-1).sort(-1).values.tolist()
        found.append([" ".join(str(place) for place in head) for head in places])
    return found


@torch.no_grad()
def main() -> None:
    import kvpress

    presses = {
        "snapkv 16 5 60": kvpress.SnapKVPress(0.5, window_size=16, kernel_size=5),
        "snapkv 4 9 30": kvpress.SnapKVPress(0.75, window_size=4, kernel_size=9),
        "tova 60": kvpress.TOVAPress(0.5),
        "knorm 30": kvpress.KnormPress(0.75),
        "expected_attention 60": kvpress.ExpectedAttentionPress(0.5),
        "expected_attention 30 mean": kvpress.ExpectedAttentionPress(
            0.75, n_future_positions=64, n_sink=2, use_covariance=False, use_vnorm=False
        ),
        "expected_attention 40 epsilon": kvpress.ExpectedAttentionPress(2 / 3, epsilon=0.02),
        "streaming 4 56": kvpress.StreamingLLMPress(0.5, n_sink=4),
    }
    found = {
        architecture: {name: kept(model, press) for name, press in presses.items()}
        for architecture in ("llama", "qwen3")
        for model in [model_of(architecture)]
    }
    said = {"kvpress": version("kvpress"), "transformers": transformers.__version__, "kept": found}
    print(json.dumps(said, indent=2))


if __name__ == "__main__":
    main()
