"""What an entry says of an architecture, read from the sources of llama.cpp and transformers.

llama.cpp rotates neighbouring features of a head of some architectures, where transformers rotates
a feature of its first half with one of its second: rows of the query and key projections are put
in that order. Gemma's norms multiply by one more than they store, in llama.cpp by what they store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from gguf import GGUFWriter

from pare_backends.runtimes.llama_cpp.architectures import own_keys as own
from pare_backends.runtimes.llama_cpp.architectures.newer.kind import Kind
from pare_backends.runtimes.llama_cpp.architectures.own_keys import Config
from pare_backends.runtimes.llama_cpp.architectures.parts import Parts


def _no_keys(writer: GGUFWriter, config: Config) -> None:
    pass


def _no_factors(config: Config) -> dict[str, np.ndarray | float]:
    return {}


def _no_orders(config: Config) -> dict[str, np.ndarray]:
    return {}


def _no_tensors(config: Config) -> Mapping[str, tuple[int, ...]]:
    return {}


def _nothing_else(config: Config) -> str | None:
    return None


Computed = Callable[[np.ndarray, Config], np.ndarray]
"""What llama.cpp has of a tensor's values: their exponential, or themselves in other places."""


@dataclass(frozen=True)
class HeadWidths:
    """Features of a head."""

    key: int
    value: int
    rotated: int  # at most; a share of them may be


def usual_widths(config: Config) -> HeadWidths:
    heads = int(config["num_attention_heads"])
    width = int(config.get("head_dim") or config["hidden_size"] // heads)
    return HeadWidths(width, width, width)


@dataclass(frozen=True)
class Architecture:
    """llama.cpp's way to compute an architecture of transformers."""

    kind: Kind
    neighbours: bool = False  # whether it rotates neighbouring features
    ropes: tuple[str, ...] = ("default", "linear")  # types that it computes as transformers does;
    # none: it rotates nothing
    activations: tuple[str, ...] = ("silu",)  # names of what it computes, its own first
    activation_key: str = "hidden_act"  # where a config says it
    norm_key: str = "rms_norm_eps"  # a config's epsilon of its norms
    rotated: float = 1.0  # the share of a head that it rotates where a config does not say
    centred: bool = False  # whether its norms subtract a mean
    settings: Callable[[Config], Config] = dict  # what a config says otherwise than by names
    own_keys: Mapping[str, str] = field(default_factory=dict)  # other names for the usual keys
    turned: tuple[str, ...] = ()  # endings of matrices that lie as (in, out) in the checkpoint
    stacks: tuple[str, ...] = ()  # endings of tensors that hold all experts of a layer
    parts: Mapping[str, Parts] = field(default_factory=dict)  # by endings of what is several there
    fused: str | None = None  # a layer with each key's queries, it and its value behind each other
    by_layer: Mapping[str, Callable[[GGUFWriter, Sequence[float]], None]] = field(
        default_factory=dict
    )  # what writes tensors of one number as a key, by their endings
    same_heads: bool = False  # whether layers that hold a state are told to have heads too
    scales_queries: bool = False  # whether yarn's factor multiplies queries, as in DeepSeek
    head_widths: Callable[[Config], HeadWidths] = usual_widths
    norm_shift: float = 0.0  # what its norms multiply by beyond what they store
    unshifted: tuple[
        str, ...
    ] = ()  # endings of norms that multiply by what they store all the same
    values: Mapping[str, Computed] = field(default_factory=dict)
    # by endings of tensors that llama.cpp has as what they give
    row_orders: Callable[[Config], Mapping[str, np.ndarray]] = _no_orders
    # by endings of tensors their rows in the file's order
    column_orders: Callable[[Config], Mapping[str, np.ndarray]] = _no_orders
    # the same of columns, which blocks must not reach across
    factors: Callable[[Config], Mapping[str, np.ndarray | float]] = _no_factors
    # by endings of tensors what their rows are multiplied by: the model has its products so
    all_words: tuple[str, ...] = ()  # endings of embeddings with a row for every word in the file
    unread: Callable[[Config], Mapping[str, tuple[int, ...]]] = _no_tensors
    # shapes of tensors that llama.cpp asks a file for and never reads, by their names there
    window_period: int | None = None  # of so many layers the last sees all; None: every layer does
    own_windows: bool = False  # whether its file says which layers have a window
    layer_heads: Callable[[Config], list[int]] | None = None  # of queries, where layers differ
    layer_kv_heads: Callable[[Config], list[int]] | None = None  # of keys, where layers differ
    kv_heads: Callable[[Config], int | None] = own.kv_heads_said  # of keys; None: as of queries
    width: Callable[[Config], int | list[int]] = (
        own.usual_width
    )  # of the features between a block's matrices
    renamed: Mapping[str, str] = field(default_factory=dict)  # endings that the file has otherwise
    variant: Callable[[Config], Architecture] | None = None  # where a config chooses among several
    write_keys: Callable[[GGUFWriter, Config], None] = _no_keys
    note: Callable[[Config], str | None] = _nothing_else  # what it computes nearly alike
    why_not: Callable[[Config], str | None] = _nothing_else  # what it computes otherwise


TANH_GELU = ("gelu_pytorch_tanh", "gelu_new", "gelu_fast")
"""transformers' names of the gelu by a tanh, which llama.cpp reads out of a table of float16."""


STRETCHED = ("default", "linear", "yarn")
ALL_ROPES = (*STRETCHED, "llama3")


def whole_window(architecture: Architecture, config: Config) -> int | None:
    """Tokens of the longest text of which llama.cpp, which sees all, attends to what the model
    does: its window, which leaves nothing out there. None: whatever the model reads."""
    window, kinds = _window(config), config.get("layer_types") or []
    longest = int(config.get("max_position_embeddings") or 0)
    other = architecture.window_period is not None or architecture.own_windows
    if other or window is None or window >= longest:
        return None
    return None if kinds and "sliding_attention" not in kinds else window


def _window(config: Config) -> int | None:
    window = config.get("sliding_window")
    return None if window is None or not config.get("use_sliding_window", True) else int(window)


def why_no_windows(architecture: Architecture, config: Config) -> str | None:
    """Why llama.cpp's windows would not be the model's; None: they are, or it has none."""
    window, kinds = _window(config), config.get("layer_types") or []
    period = architecture.window_period
    if period is None:
        return None
    if window is None:
        return f"it has no sliding_window, llama.cpp's {architecture.kind.name.lower()} has one"
    expected = [
        "full_attention" if (i + 1) % period == 0 else "sliding_attention"
        for i in range(int(config["num_hidden_layers"]))
    ]
    if kinds and list(kinds) != expected:
        return f"not every {period}th of its layers, and no other, sees all tokens, as in llama.cpp"
    return None
