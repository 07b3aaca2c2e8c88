"""Layer scores that other programs wrote: AutoRound's AutoScheme and Model-Optimizer's
auto_quantize. Nothing of a file is ever run: JSON, or tensors by `weights_only`.

Sources: auto_round/auto_scheme/delta_loss.py (`_save_autoscheme_scores`, version 1);
modelopt/torch/quantization/algorithms.py (`initialize_candidate_stats`) of 0.47.
"""

from __future__ import annotations

import json
import math
import pickle
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.failures import CallFailure
from pare_backends.plain_file import require_file
from pare_backends.quantization.mixing.formats import NAME, Format
from pare_backends.quantization.mixing.score import Score

AUTO_SCHEME = "AutoRound AutoScheme"
AUTO_QUANTIZE = "Model-Optimizer auto_quantize"
METHODS = {"gradient": "auto_quantize", "kl_div": "auto_quantize_kl"}
"""Scorer by what Model-Optimizer calls the method."""
STAND_INS = ("modelopt.", "builtins.slice")
"""What a state may name beside plain values: it is replaced by a class that does nothing."""
RECIPE = re.compile(r"^(?P<name>.*)\(effective-bits: (?P<bits>\d+(\.\d+)?)\)$", re.ASCII)
NOT_ROUNDED = "NONE"
MOST = 1e300
"""Of a score, or of bits: more are no figure of a layer."""


@dataclass(frozen=True)
class Known:
    """The layers of the model that the scores must be of."""

    shapes: Mapping[str, tuple[int, int]]  # (out, in), in the order of the model
    parts: Mapping[str, str]  # linear, embedding or head
    modules: Mapping[str, str]  # layer by the module's name

    def named(self, name: str) -> str:
        """The layer of a name in the file. Raises where the model has none."""
        layer = self.modules.get(name, name)
        if layer not in self.shapes:
            raise bad(
                f"it scores the layer {name}, which this model does not have",
                f"Import it into a study of its own model; here layers are named such as"
                f" {next(iter(self.shapes))}",
            )
        return layer

    def weights(self, layers: Sequence[str]) -> int:
        return sum(math.prod(self.shapes[layer]) for layer in layers)

    def index(self, layer: str) -> int:
        return list(self.shapes).index(layer)


def bad(why: str, hint: str | None = None) -> CallFailure:
    """What cannot be imported, and why."""
    return CallFailure("bad_input", f"Cannot import the layer scores: {why}", hint)


def read_scores(path: Path, known: Known) -> tuple[str, list[Score]]:
    """(the program that scored, a row a layer and format).

    raises: CallFailure "bad_input" where the file is another, or of another model
    """
    require_file(path)
    try:
        start = path.open("rb").read(64).lstrip()
    except OSError as error:
        raise bad(f"{path} cannot be read: {error.strerror}") from error
    if start.startswith(b"{"):
        return AUTO_SCHEME, auto_scheme(path, known)
    if start.startswith((b"PK", b"\x80")):
        return AUTO_QUANTIZE, auto_quantize(path, known)
    raise bad(
        f"{path.name} is neither a score file of AutoScheme (JSON) nor a state of auto_quantize",
        "AutoRound keeps the former in ~/.cache/auto_round, Model-Optimizer writes the latter to"
        " checkpoint=",
    )


def auto_scheme(path: Path, known: Known) -> list[Score]:
    """One scheme's scores: {layer: [bits of the layer, loss]}."""
    try:
        held = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise bad(f"{path.name} is no whole JSON file: {error}") from error
    scores, scheme = held.get("layer_scores"), held.get("scheme")
    if not isinstance(scores, dict) or not isinstance(scheme, dict) or not scores:
        raise bad(f"{path.name} has no layer_scores with their scheme, as AutoScheme writes them")
    if (held.get("version"), held.get("score_granularity")) != (1, "per_op"):
        raise bad(f"{path.name} is of version {held.get('version')!r}, and this pare reads 1")
    config, tokens = held.get("cache_config"), None
    config = config if isinstance(config, dict) else {}
    samples, length = config.get("nsamples"), config.get("seqlen")
    if isinstance(samples, int) and isinstance(length, int):
        tokens = samples * length
    found = []
    for name, pair in scores.items():
        layer = known.named(name)
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(is_number, pair)):
            raise bad(f"what {path.name} says of {name} is not [bits, loss]: {pair!r}")
        found.append(row(known, [layer], scheme_format(scheme), "auto_scheme", pair[1], tokens))
        check_shape(known, layer, scheme, float(pair[0]))
        if NAME.fullmatch(found[-1].format) is None:
            found[-1] = sized(known, found[-1], [layer], pair[0] / known.weights([layer]))
    return found


def is_number(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return isinstance(value, float) or abs(value) <= MOST  # what no float holds


def scheme_format(scheme: Mapping[str, Any]) -> str:
    """pare's name of a scheme where it has one, such as 4-bit-g128; else one of its kind."""
    bits, group = scheme.get("bits"), scheme.get("group_size", -1)
    kind, inputs = str(scheme.get("data_type") or "int"), scheme.get("act_bits") or 16
    floats = not is_number(inputs) or inputs >= 16
    if kind == "int" and floats and isinstance(group, int) and isinstance(bits, int):
        name = Format(bits, group if group > 0 else -1, bool(scheme.get("sym", True))).name
        if NAME.fullmatch(name) is not None:
            return name
    ending = "" if floats else f"-a{inputs}"
    return f"{kind}{bits}-g{group}{ending}"


def check_shape(known: Known, layer: str, scheme: Mapping[str, Any], said: float) -> None:
    """Raises where so many bits are not those of a matrix of this shape."""
    bits, group = scheme.get("bits"), scheme.get("group_size")
    rows, columns = known.shapes[layer]
    if not isinstance(bits, int) or not isinstance(group, int) or group == 0:
        return
    codes = bits * rows * columns
    groups = rows * -(-columns // group) if group > 0 else rows
    # A float16 scale and a zero point at most, as AutoScheme counts them, and whole groups.
    if not codes <= said <= codes + groups * (32 + bits * max(group, 1)):
        raise bad(
            f"its {layer} takes {said:.0f} bits, which a layer of {rows} by {columns} does not",
            "Import it into a study of its own model",
        )


def auto_quantize(path: Path, known: Known) -> list[Score]:
    """Each group of layers in each format: a group has one score, and stands at its first layer."""
    state = plain_state(path)
    stats = state.get("candidate_stats") if isinstance(state, dict) else None
    scorer = METHODS.get(str(state.get("method"))) if isinstance(state, dict) else None
    if not isinstance(stats, dict) or not stats or scorer is None:
        raise bad(f"{path.name} has no candidate_stats of auto_quantize with their method")
    found = []
    for name, stat in stats.items():
        try:
            layers = [known.named(module) for module in stat["module_names"]]
            weights = known.weights(layers)
            whole = float(stat["uncompressed_cost"]) / float(stat.get("cost_weight") or 1)
            each = list(zip(stat["formats"], stat["scores"], stat["costs"], strict=True))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise bad(f"what {path.name} says of {name} cannot be read: {error!r}") from error
        if not layers:
            raise bad(f"what {path.name} says of {name} names no layer")
        if not math.isclose(whole, weights, rel_tol=1e-6):
            raise bad(
                f"its {layers[0]} counts {whole:.0f} weights, this model's {weights}",
                "Import it into a study of its own model",
            )
        for recipe, score, cost in each:
            of = RECIPE.fullmatch(recipe_name(recipe))
            if of is None or not is_number(score) or not is_number(cost):
                raise bad(f"what {path.name} says of {name} cannot be read: {recipe_name(recipe)}")
            if of["name"] != NOT_ROUNDED:
                made = row(known, layers, of["name"], scorer, score, None)
                found.append(sized(known, made, layers, float(of["bits"])))
    return found


def recipe_name(recipe: Any) -> str:
    held = getattr(recipe, "held", None)
    return str(held.get("_str_repr")) if isinstance(held, dict) else str(recipe)


class StandIn:
    """In the place of a class that a file names: it keeps what the file says and does nothing."""

    def __new__(cls, *_: Any, **__: Any) -> StandIn:
        return object.__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        """Takes whatever it is given."""

    def __setstate__(self, state: Any) -> None:
        self.held = state


def plain_state(path: Path) -> Any:
    """A torch file of plain values, no class of which is imported."""
    import torch

    try:
        named = torch.serialization.get_unsafe_globals_in_checkpoint(path)
        strange = [name for name in named if not name.startswith(STAND_INS)]
        if strange:
            raise bad(f"{path.name} wants {strange[0]} to be run, which no score file needs")
        known: list[Any] = [(type("StandIn", (StandIn,), {}), name) for name in named]
        with torch.serialization.safe_globals(known):
            return torch.load(path, weights_only=True, map_location="cpu")
    except (RuntimeError, ValueError, EOFError, KeyError, pickle.UnpicklingError) as error:
        said = str(error).split("\n", maxsplit=1)[0]
        raise bad(f"{path.name} is no whole file of torch: {said}"[:300]) from error


def row(
    known: Known, layers: list[str], form: str, scorer: str, value: float, tokens: int | None
) -> Score:
    """A score of a layer, or of several in one format together, by pare's own count of bytes."""
    first = layers[0]
    others = [layer.rsplit(".", 1)[-1] for layer in layers[1:]]
    unit = "1" if not others else f"1, with {', '.join(others)} in the same format"
    size = 0.0
    match = NAME.fullmatch(form)
    if match is not None and match["bits"] is not None:
        bits, group = int(match["bits"]), match["group"]
        for rows, columns in (known.shapes[layer] for layer in layers):
            scales = rows * (1 if group is None else -(-columns // int(group)))
            size += rows * columns * bits / 8 + 2 * scales
            size += scales * bits / 8 if match["zeros"] is not None else 0
    made = Score(
        first,
        known.index(first),
        known.parts[first],
        form,
        8 * size / known.weights(layers),
        math.ceil(size),
        scorer,
        float(value),
        None,
        unit,
        tokens,
        None,
    )
    if not math.isfinite(made.value):
        raise bad(f"the score of {first} in {form} is no number")
    return made


def sized(known: Known, score: Score, layers: list[str], bits: float) -> Score:
    """The same with bits per weight as the file counts them. Raises where these are no number."""
    if not 0 <= bits <= MOST:
        raise bad(f"{bits} bits a weight of {score.layer} in {score.format} are no number of bits")
    size = math.ceil(known.weights(layers) * bits / 8)
    return Score(**{**vars(score), "weight_bits": bits, "size_bytes": size})
