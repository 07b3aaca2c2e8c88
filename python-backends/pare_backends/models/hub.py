"""Hugging Face names: the local cache first, then the hub, each refusal in one sentence."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from pare_backends.failures import StageFailure, one_line
from pare_backends.models.limits import FLOAT_BYTES, check_memory

PATTERNS = ["*.safetensors", "*.json", "*.jinja", "*.model", "*.txt"]
SAFETENSORS_HINT = "Convert it to safetensors first, or name a repository that has them"


def hub_snapshot(name: str, trust_remote_code: bool) -> tuple[Path, str | None]:
    """(directory in the cache, commit) of a model on the hub."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    patterns = [*PATTERNS, "*.py"] if trust_remote_code else PATTERNS
    try:
        cached = Path(snapshot_download(name, allow_patterns=patterns, local_files_only=True))
        if any(cached.glob("*.safetensors")) and (cached / "config.json").exists():
            return cached, cached.name
    except LocalEntryNotFoundError:
        pass  # not in the cache: ask the hub
    if offline():
        raise StageFailure(
            "bad_input",
            f'Cannot fetch the model "{name}": it is neither a file, a directory nor in the local'
            " Hugging Face cache, and HF_HUB_OFFLINE keeps the hub out",
            hint="Give a path, use demo, or unset HF_HUB_OFFLINE",
        )
    return fetch(name, patterns)


def offline() -> bool:
    """Whether the user keeps this process from the hub."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "TRUE", "YES", "ON"}


def fetch(name: str, patterns: list[str]) -> tuple[Path, str | None]:
    """Downloads a model after its size was seen to fit this machine."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    try:
        commit = check_size(name)
        return Path(snapshot_download(name, allow_patterns=patterns)), commit
    except GatedRepoError as error:
        raise StageFailure(
            "bad_input",
            f'Cannot fetch the model "{name}": its authors gate it and'
            f" {'HF_TOKEN has no access' if os.environ.get('HF_TOKEN') else 'HF_TOKEN is not set'}",
            hint=f"Accept its terms at https://huggingface.co/{name}, then set HF_TOKEN",
        ) from error
    except RepositoryNotFoundError as error:
        raise StageFailure(
            "bad_input",
            f'Unknown model "{name}": no file or directory of that name, and the hub has none',
            hint="Check the spelling; private models need HF_TOKEN",
        ) from error
    except (HfHubHTTPError, OSError) as error:
        raise unreachable(name, error) from error
    except Exception as error:
        # huggingface_hub lets its HTTP client's own errors through (no connection, time-outs).
        if type(error).__module__.split(".")[0] not in {"httpx", "requests", "httpcore"}:
            raise
        raise unreachable(name, error) from error


def unreachable(name: str, error: BaseException) -> StageFailure:
    """The failure for a hub that does not answer."""
    return StageFailure(
        "bad_input",
        f'Cannot fetch the model "{name}": it is neither a file nor a directory here, and the hub'
        f" cannot be reached ({one_line(error, 120)})",
        hint="Check the network, give a path, or use demo",
    )


def check_size(name: str) -> str | None:
    """The model's commit, after its weights were seen to fit the disk and the memory."""
    from huggingface_hub import HfApi
    from huggingface_hub.constants import HF_HUB_CACHE

    info: Any = HfApi().model_info(name, files_metadata=True)
    files = [f for f in info.siblings or [] if f.rfilename.endswith(".safetensors")]
    if not files:
        raise StageFailure(
            "bad_input",
            f'Cannot use the model "{name}": it has no safetensors files, and pickled weights can'
            " run code when they are loaded",
            hint=SAFETENSORS_HINT,
        )
    stored = sum(f.size or 0 for f in files)
    root = next(p for p in (Path(HF_HUB_CACHE), *Path(HF_HUB_CACHE).parents) if p.exists())
    free = shutil.disk_usage(root).free
    if stored > free:
        raise StageFailure(
            "disk_full",
            f'Cannot fetch the model "{name}": it needs {stored / 1e9:.1f} GB of disk, found'
            f" {free / 1e9:.1f} GB",
            hint="Free space, or set HF_HOME to a larger disk",
        )
    parameters = getattr(info.safetensors, "total", None) or stored // 2
    check_memory(name, int(parameters) * FLOAT_BYTES)
    return str(info.sha) if info.sha else None
