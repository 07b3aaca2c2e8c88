"""The load that a report prints, tried: `AutoModelForCausalLM.from_pretrained(directory)` and
nothing else, so that what is recommended is what was measured.

Pare's own loader multiplies weights out to float32 before a model is evaluated. Whoever copies the
printed lines computes in the type that config.json says, with what transformers and
compressed-tensors make of the files.
"""

from __future__ import annotations

import gc
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from pare_backends.checkpoint.empty_model import trusts_remote_code
from pare_backends.checkpoint.soundness import NOT_FINITE, cosine, mean_kl

LIBRARIES = ("transformers", "compressed-tensors", "torch")


def plain_facts(directory: str | Path, tokens: Any, evaluated: np.ndarray) -> dict[str, Any]:
    """`PlainLoad` of the wire.

    tokens: (1, n) int64; evaluated: (n, vocabulary) logits of the model that is evaluated
    """
    import torch

    facts: dict[str, Any] = {
        "loaded_by": ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES),
        "dtype": None,
        "problem": None,
        "cosine": None,
        "kl": None,
        "tokens": int(tokens.shape[1]),
    }
    gc.collect()  # the evaluated model may be as large as the memory has room for once
    try:
        model, missing = load_plainly(directory)
        facts["dtype"] = str(model.dtype).removeprefix("torch.")
        if missing:
            return facts | {"problem": f"it leaves {missing[0]} at what it was drawn as"}
        with torch.inference_mode():
            own = model(tokens).logits[0].float().numpy()
    except Exception as error:  # whatever a library raises is what there is to be said
        return facts | {"problem": f"{type(error).__name__}: {error}"[:300]}
    if not np.isfinite(own).all():
        return facts | {"problem": NOT_FINITE}
    return facts | {"cosine": cosine(own, evaluated), "kl": mean_kl(evaluated, own)}


def load_plainly(directory: str | Path) -> tuple[Any, list[str]]:
    """(the model by the printed lines, parameters that the files gave it nothing for)."""
    from transformers import AutoModelForCausalLM

    loaded: Any = AutoModelForCausalLM.from_pretrained(
        str(directory),
        local_files_only=True,
        trust_remote_code=trusts_remote_code(),
        output_loading_info=True,
    )
    model, info = loaded
    return model.eval(), sorted(info["missing_keys"])
