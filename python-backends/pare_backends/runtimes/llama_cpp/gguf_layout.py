"""How a checkpoint is laid out in a GGUF file: keys, names, and the order of rows."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from gguf import GGUFWriter

from pare_backends.checkpoint.forms.ggml import BLOCK_KINDS
from pare_backends.failures import CallFailure
from pare_backends.runtimes.llama_cpp.architectures.architecture import (
    Computed,
    whole_window,
    why_no_windows,
)
from pare_backends.runtimes.llama_cpp.architectures.known import ARCHITECTURES, UNLIKE
from pare_backends.runtimes.llama_cpp.architectures.mixtures import experts, of_all
from pare_backends.runtimes.llama_cpp.architectures.newer.kind import name_of, tensor_names
from pare_backends.runtimes.llama_cpp.architectures.own_keys import has_no_keys, kinds_of_layers
from pare_backends.runtimes.llama_cpp.architectures.parts import LatentParts, Parts
from pare_backends.runtimes.llama_cpp.architectures.rope import Rope
from pare_backends.runtimes.stored_weights import StoredWeights

EXPERT = re.compile(r"\.(experts|altup_projections|altup_unembed_projections)\.(\d+)\.")
"""What of a tensor's name says which expert's it is, or which stream's of Gemma 3n: all are in one
tensor of the file."""
LAYER = re.compile(r"\blayers\.(\d+)\.")
IN_FLOAT32 = (
    "block_sparse_moe.gate.weight", "mlp.gate.weight", "shared_expert_gate.weight", "wpe.weight",
    "conv.conv.weight", "feed_forward.gate.weight", "mlp.gate.wg.weight",
    "mlp.router.weight", "router.layer.weight", "_proj_bias", "conv1d.weight", ".A_log",
    "mamba.D", "mamba.norm.weight", "mixer.D", "mixer.norm.weight", "mixer.gate.weight",
    "feed_forward.router.weight", "moe.router.weight", "router.proj.weight", "router.gate.weight",
    "altup.modality_router.weight", "prediction_coefs.weight", "correction_coefs.weight",
    "hc_fn", "hc_head_fn",
)  # fmt: skip
"""Endings of what chooses experts, of positions and of convolutions: they lie in float32."""
USUAL_EPSILON = 1e-5
USUAL_CONTEXT = 2048
WINDOW_NOTE = (
    "the file reads {window} tokens: of longer texts llama.cpp attends to all,"
    " the model to the last {window}"
)
GELU_NOTE = "llama.cpp computes gelu by a tanh, the model by the error function: up to 0.0005 apart"
NEEDED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
NOT_STORED = ("rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias", "attention.masked_bias")
"""Endings of tensors that older files hold and nobody needs."""
ENDINGS = {
    "e_score_correction_bias": "e_score_correction.bias", "expert_bias": "expert_bias.bias",
    ".correct_output_scale": ".correct_output_scale.weight", ".dt_bias": ".dt_proj.bias",
    ".layer_scalar": ".layer_scalar.weight",
    "mlp.w1": "mlp.w1.weight", "mlp.v1": "mlp.v1.weight", "mlp.w2": "mlp.w2.weight",
    "experts.gate_up_proj": "experts.gate_up_proj.weight",
    "experts.down_proj": "experts.down_proj.weight", ".sinks": ".sinks.weight",
    "experts.down_proj_bias": "experts.down_proj.bias",
    "attention_sink_bias": "attention_sink_bias.weight",
    "forward.experts.w1.weight": "forward.experts.gate_proj.weight",
    "forward.experts.w2.weight": "forward.experts.down_proj.weight",
    "forward.experts.w3.weight": "forward.experts.up_proj.weight",
}  # fmt: skip
"""Endings of names that gguf-py's map has otherwise."""


class GgufLayout:
    """Where each tensor of a checkpoint goes. `CallFailure` for what llama.cpp computes otherwise.

    config: the checkpoint's config.json; multiplies: whether rows are multiplied by what the model
    multiplies their products by, and llama.cpp has no key for
    """

    def __init__(self, config: Mapping[str, Any], multiplies: bool = True) -> None:
        named = (config.get("architectures") or ["none"])[0]
        if named in UNLIKE:
            raise _no_layout(f"it is {named}: {UNLIKE[named]}")
        if named not in ARCHITECTURES:
            known = ", ".join(ARCHITECTURES)
            raise _no_layout(f"it is {named}, and only {known} are laid out here")
        found = ARCHITECTURES[named]
        self._architecture = found if found.variant is None else found.variant(config)
        self.architecture = name_of(self._architecture.kind)
        """Its name in llama.cpp."""
        config = in_usual_words(self._architecture.settings(config), self._architecture.own_keys)
        lacking = [key for key in NEEDED if config.get(key) is None]
        if lacking:
            raise _no_layout(f"its config.json says no {' and no '.join(lacking)}")
        own, *also = self._architecture.activations
        key = self._architecture.activation_key
        activation = config.get("hidden_activation") or config.get(key, own)
        if activation not in (own, *also):
            raise _no_layout(f"its {key} is {activation}, llama.cpp takes {own}")
        why_not = why_no_windows(self._architecture, config) or self._architecture.why_not(config)
        if why_not is not None:
            raise _no_layout(why_not)
        self.config = config
        self.layers = int(config["num_hidden_layers"])
        self.heads = int(config["num_attention_heads"])
        self.kv_heads = int(self._architecture.kv_heads(config) or self.heads)
        self.widths = self._architecture.head_widths(config)
        ropes, share = self._architecture.ropes, self._architecture.rotated
        scales = self._architecture.scales_queries
        self.rope = Rope(config, self.widths.rotated, share, scales) if ropes else None
        """None: its positions are learned, or told by a bias of attention."""
        other = None if self.rope is None else self.rope.why_not(ropes)
        if other is not None:
            raise _no_layout(other)
        gelu = GELU_NOTE if activation == "gelu" else None
        rotation = None if self.rope is None else self.rope.note
        window = whole_window(self._architecture, config)
        # BLOOM's config names no length, as its attention has no limit.
        self.reads = window or int(config.get("max_position_embeddings", USUAL_CONTEXT))
        """Tokens of the longest text, as the file says it."""
        cut = None if window is None else WINDOW_NOTE.format(window=window)
        said = (gelu, rotation, cut, self._architecture.note(config))
        self.notes = [note for note in said if note is not None]
        """What llama.cpp computes by another formula than the model."""
        self._factors = self._architecture.factors(config) if multiplies else {}
        self._row_orders = self._architecture.row_orders(config)
        self._column_orders = self._architecture.column_orders(config)
        self._unread = self._architecture.unread(config)
        self._names = tensor_names(self._architecture.kind, self.layers)

    def name(self, tensor: str) -> str:
        """A tensor's name in the file, such as blk.0.attn_q.weight; all experts' of a layer have
        one."""
        merged = EXPERT.sub(r".\1.", tensor)
        for own, known in self._architecture.renamed.items():
            merged = merged.replace(own, known)
        for own, known in ENDINGS.items():
            merged = merged.removesuffix(own) + known if merged.endswith(own) else merged
        # Of some architectures the map leaves out the prefix of the base model, or has the usual.
        usual = merged.replace("backbone.", "model.")
        names = (merged, merged.removeprefix("transformer."), usual)
        tried = (self._names.get_name(one, (".weight", ".bias", ".scale")) for one in names)
        found = next((one for one in tried if one is not None), None)
        if found is None:
            raise _no_layout(f"llama.cpp's {self.architecture} knows no tensor {tensor}")
        return found

    def is_left_out(self, tensor: str) -> bool:
        """Whether no tensor of the file holds it: leftovers of older files, the layers behind the
        last, which guess a further token, and what `write_numbers` writes."""
        beyond = layer_of(tensor) >= self.layers
        said = tuple(self._architecture.by_layer)
        return (
            beyond
            or self._asked_for_unread(tensor)
            or tensor.endswith((*NOT_STORED, *said))
            or ".mtp_" in tensor
            or ".mtp." in tensor
            or tensor.startswith("mtp.")
        )

    def write_numbers(self, writer: GGUFWriter, tensors: StoredWeights) -> None:
        """What the model holds as tensors of one number, and llama.cpp as keys."""
        for ending, write in self._architecture.by_layer.items():
            found = {layer_of(name): name for name in tensors.names() if name.endswith(ending)}
            numbers = [tensors.floats(found[at]).astype(np.float32) for at in sorted(found)]
            write(writer, [float(one.reshape(())) for one in numbers])

    def _asked_for_unread(self, tensor: str) -> bool:
        """Whether a checkpoint holds what neither transformers nor llama.cpp reads."""
        return bool(self._unread) and self._names.get_name(tensor, [".weight"]) in self._unread

    def unread(self) -> dict[str, np.ndarray]:
        """Zeros that llama.cpp asks a file for and never reads, by their names there: matrices as
        bytes of Q4_0, the smallest of its plain blocks, vectors as floats."""
        return {
            name: np.zeros((*shape[:-1], to_octets(shape[-1])), np.uint8)
            if len(shape) > 1
            else np.zeros(shape, np.float32)
            for name, shape in self._unread.items()
        }

    def stacked(self, tensors: list[str]) -> dict[str, list[str]]:
        """The tensors of the file by their first names: all experts' of a layer in one, in the
        order of the experts."""
        found: dict[str, list[str]] = {}
        for tensor in tensors:
            found.setdefault(self.names(tensor)[0], []).append(tensor)
        return {name: sorted(several, key=expert_of) for name, several in found.items()}

    def _parts(self, tensor: str) -> tuple[str, Parts] | None:
        """(a tensor's name without an ending, what the file has for that); None: it is one there"""
        for ending, parts in self._architecture.parts.items():
            if tensor.endswith(ending):
                return tensor.removesuffix(ending), parts
        return None

    def _row_axis(self, tensor: str) -> int:
        return 1 if tensor.endswith(self._architecture.stacks) else 0

    def names(self, tensor: str) -> list[str]:
        """Those of a tensor that may be several in the file."""
        found = self._parts(tensor)
        if found is None:
            return [self.name(tensor)]
        return [self.name(found[0] + one) for one in found[1].names]

    def latent_parts(self, tensor: str) -> LatentParts | None:
        """The halves of a matrix of latent keys and values, in which llama.cpp's own converter
        writes it; None: it is none, or written so here, too."""
        rank = self.config.get("kv_lora_rank")
        if rank is None or not tensor.endswith("kv_b_proj.weight") or self._parts(tensor):
            return None
        return LatentParts(heads=self.heads, width=self.widths.key - self.widths.rotated)

    def holds_rows(self, tensor: str) -> bool:
        """Whether its rows stand in the file as they are: else it is no blocks there."""
        found = self._parts(tensor)
        return found is None or found[1].of_rows

    def apart(self, tensor: str, data: np.ndarray) -> list[np.ndarray]:
        """What stands under each of its names. data: all of it, in the file's form"""
        found = self._parts(tensor)
        return [data] if found is None else found[1].apart(data, self._row_axis(tensor))

    def joined(self, tensor: str, values: list[np.ndarray]) -> np.ndarray:
        """The tensor of what stands under each of its names."""
        found = self._parts(tensor)
        return values[0] if found is None else found[1].joined(values, self._row_axis(tensor))

    def is_one_of_several(self, tensor: str) -> bool:
        """Whether a tensor of the file holds others, too: its layer's experts, or streams."""
        return expert_of(tensor) >= 0

    def is_of_experts(self, tensor: str) -> bool:
        """Whether a token reads it only of the experts that it is sent to."""
        return expert_of(tensor) >= 0 or tensor.endswith(self._architecture.stacks)

    def experts_used(self) -> float:
        """The share of a mixture's experts that a token is sent to; 1 where there is none."""
        count = experts(self.config)
        return of_all(self.config, "num_experts_per_tok") / count if count else 1.0

    def norm_shift(self, tensor: str) -> float:
        """What is added to a tensor's values: not 0 for norms that multiply by more than they
        store."""
        shifted = tensor.endswith("norm.weight")
        shifted = shifted and not tensor.endswith(self._architecture.unshifted)
        return self._architecture.norm_shift if shifted else 0.0

    def factor(self, tensor: str) -> np.ndarray | float:
        """What its rows are multiplied by: a number, or one each, (rows,)."""
        found = (by for ending, by in self._factors.items() if tensor.endswith(ending))
        return next(found, 1.0)

    def as_computed(self, tensor: str, values: np.ndarray) -> np.ndarray:
        """What llama.cpp computes with where a checkpoint has, say, its logarithm. values: all of
        a tensor of floats; returns: the very array where nothing is otherwise"""
        if values.ndim == 3 and values.shape[1] == 1:  # a convolution of each feature for itself
            values = values.reshape(len(values), -1)
        if tensor.endswith("correction_bias"):  # of experts, which some hold as one row
            values = values.reshape(-1)
        if (added := self.added(tensor, len(values))) > 0:
            values = np.pad(values, ((0, added), (0, 0)))
        by = self._computed_by(tensor)
        return values if by is None else by(values, self.config)

    def as_stored(self, tensor: str, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The way of `as_computed` back. shape: the checkpoint's of the tensor

        raises: ValueError where the values have not that shape
        """
        by = self._computed_by(tensor)
        if by is None:
            more = bool(shape) and self.added(tensor, shape[0]) > 0
            return (values[: shape[0]] if more else values).reshape(shape)
        if np.any(by(np.zeros(shape, np.float32), self.config)):
            return np.log(-values).reshape(
                shape
            )  # a decay, of which a checkpoint has the logarithm
        # It moves values alone: where numbers go tells where each came from.
        places = by(np.arange(math.prod(shape), dtype=np.int64).reshape(shape), self.config)
        stored = np.empty(places.size, np.float32)
        stored[places.reshape(-1)] = values.reshape(places.size)
        return stored.reshape(shape)

    def is_computed(self, tensor: str) -> bool:
        """Whether the file holds its values otherwise than by rows and columns."""
        return self._computed_by(tensor) is not None

    def _computed_by(self, tensor: str) -> Computed | None:
        found = (by for ending, by in self._architecture.values.items() if tensor.endswith(ending))
        return next(found, None)

    def added(self, tensor: str, rows: int) -> int:
        """Rows of zeros that an embedding has more in the file: of words that no text has."""
        every = tensor.endswith(self._architecture.all_words)
        return max(0, int(self.config["vocab_size"]) - rows) if every else 0

    def is_turned(self, tensor: str) -> bool:
        """Whether the checkpoint holds it as (in, out)."""
        return tensor.endswith(self._architecture.turned)

    def row_order(self, tensor: str, rows: int) -> np.ndarray | None:
        """Rows of a tensor in the file's order; None where it is the checkpoint's own."""
        if (own := _by_ending(self._row_orders, tensor)) is not None:
            return own
        layer = tensor.split(".")[-2]
        if layer == self._architecture.fused:
            # Key by key its queries, it and its value: llama.cpp has all queries first.
            grouped = np.arange(rows).reshape(self.kv_heads, self.heads // self.kv_heads + 2, -1)
            each = (grouped[:, :-2], grouped[:, -2], grouped[:, -1])
            return np.concatenate([one.reshape(-1) for one in each])
        heads = {"q_proj": self.heads, "k_proj": self.kv_heads}.get(layer)
        if heads is None or not self._architecture.neighbours:
            return None
        own = np.arange(rows).reshape(heads, rows // heads)
        width = own.shape[1] if self.rope is None else self.rope.dimensions  # what is not rotated
        turned = own[:, :width].reshape(heads, 2, -1).swapaxes(1, 2).reshape(heads, -1)  # stays
        return np.concatenate([turned, own[:, width:]], axis=1).reshape(-1)

    def column_order(self, tensor: str) -> np.ndarray | None:
        """Columns of a tensor in the file's order; None where it is the checkpoint's own."""
        return _by_ending(self._column_orders, tensor)

    def _kv_heads_by_layer(self) -> int | list[int]:
        """Heads of keys; by layer where some hold a state and have none."""
        if self._architecture.layer_kv_heads is not None:
            return self._architecture.layer_kv_heads(self.config)
        kinds = kinds_of_layers(self.config)
        if self._architecture.same_heads or not any(map(has_no_keys, kinds)):
            return self.kv_heads
        return [0 if has_no_keys(kind) else self.kv_heads for kind in kinds]

    def keys(self, tensors: StoredWeights) -> dict[str, Any]:
        """What a file of the model says of its architecture, by keys. tensors: the model's own"""
        writer = GGUFWriter(None, self.architecture)
        self.write_keys(writer)
        self.write_numbers(writer, tensors)
        own = f"{self.architecture}."
        return {
            key.removeprefix(own): held.value
            for key, held in writer.kv_data[0].items()
            if key.startswith(own)
        }

    def write_keys(self, writer: GGUFWriter) -> None:
        """What llama.cpp must know of the architecture."""
        config = self.config
        writer.add_context_length(self.reads)
        writer.add_embedding_length(int(config["hidden_size"]))
        writer.add_feed_forward_length(self._architecture.width(config))
        writer.add_block_count(self.layers)
        by_layer = self._architecture.layer_heads
        writer.add_head_count(self.heads if by_layer is None else by_layer(config))
        writer.add_head_count_kv(self._kv_heads_by_layer())
        writer.add_key_length(self.widths.key)
        writer.add_value_length(self.widths.value)
        epsilon = float(config.get(self._architecture.norm_key, USUAL_EPSILON))
        if self._architecture.centred:
            writer.add_layer_norm_eps(epsilon)
        else:
            writer.add_layer_norm_rms_eps(epsilon)
        writer.add_vocab_size(int(config["vocab_size"]))
        if self.rope is not None:
            self.rope.write_keys(writer)
        self._architecture.write_keys(writer, config)


def in_usual_words(config: Mapping[str, Any], own_keys: Mapping[str, str]) -> dict[str, Any]:
    """The config with the values of its architecture's own names under the usual ones."""
    return {**config, **{usual: config[own] for usual, own in own_keys.items() if own in config}}


def _by_ending(orders: Mapping[str, np.ndarray], tensor: str) -> np.ndarray | None:
    return next((order for ending, order in orders.items() if tensor.endswith(ending)), None)


def to_octets(weights: int) -> int:
    """Bytes of so many weights in Q4_0."""
    block = BLOCK_KINDS["Q4_0"]
    return -(-weights // block.weights) * block.octets


def layer_of(tensor: str) -> int:
    """The number of the layer that it is of; -1: of none."""
    found = LAYER.search(tensor)
    return -1 if found is None else int(found[1])


def expert_of(tensor: str) -> int:
    """The number of the expert, or stream, whose tensor it is; -1: it is a tensor of its own."""
    found = EXPERT.search(tensor)
    return -1 if found is None else int(found[2])


def _no_layout(why: str) -> CallFailure:
    return CallFailure(
        "invalid",
        f"Cannot write this model as a GGUF file: {why}",
        "measure it in another runtime, such as openvino or transformers",
    )
