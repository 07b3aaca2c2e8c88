"""What the hub's answers mean for a user: one sentence each. A token is never part of one."""

from __future__ import annotations

import difflib

from pare_backends.failures import CallFailure, chain, is_disk_full, one_line


def refusal(name: str, error: BaseException) -> CallFailure | None:
    """The failure that huggingface_hub's error stands for; None for what is no answer of a hub."""
    import httpx
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
    )

    if isinstance(error, CallFailure):
        return None
    if any(is_disk_full(one) for one in chain(error)):
        return CallFailure(
            "disk_full",
            f'Cannot fetch the model "{name}": no space left on the disk',
            hint="Free space, or set HF_HOME to a larger disk",
        )
    if isinstance(error, GatedRepoError):
        return gated(name)
    if isinstance(error, RepositoryNotFoundError):
        return unknown(name)
    if isinstance(error, HFValidationError):
        return CallFailure(
            "bad_input",
            f'Unknown model "{name}": no file or directory of that name, and no name of the hub'
            f" looks like it ({one_line(error, 160)})",
        )
    if isinstance(error, HfHubHTTPError) and error.response.status_code in {401, 403}:
        return CallFailure(
            "bad_input",
            f'Cannot fetch the model "{name}": the hub does not accept HF_TOKEN'
            f" (status {error.response.status_code})",
            hint="Make a new token with the right to read it, or unset HF_TOKEN",
        )
    if isinstance(error, (HfHubHTTPError, httpx.HTTPError, httpx.InvalidURL, OSError)):
        return unreachable(name, error)
    return None


def gated(name: str) -> CallFailure:
    """The failure for a model whose authors let only those read it who asked."""
    from huggingface_hub import constants, get_token

    why = "is not set" if get_token() is None else "has no access to it"
    return CallFailure(
        "bad_input",
        f'Cannot fetch the model "{name}": its authors gate it and HF_TOKEN {why}',
        hint=f"Accept its terms at {constants.ENDPOINT}/{name}, then set HF_TOKEN to a token of"
        " the account that did",
    )


def unknown(name: str) -> CallFailure:
    """The failure for a name that the hub does not know, or does not show to this user."""
    near = near_names(name)
    meant = f' Did you mean "{near[0]}"?' if near else ""
    return CallFailure(
        "bad_input",
        f'Unknown model "{name}".{meant} No file or directory has that name, and the hub has none',
        hint="Check the spelling; private models need HF_TOKEN",
    )


def near_names(name: str) -> list[str]:
    """Names of the hub that are nearly this one, the nearest first; empty where it cannot tell."""
    import httpx
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    author, _, word = name.rpartition("/")
    found: set[str] = set()
    try:
        found.update(model.id for model in HfApi().list_models(search=word, limit=20))
        if author:
            # A misspelt word is found in no search: the author's own models are few enough.
            found.update(model.id for model in HfApi().list_models(author=author, limit=200))
    except (HfHubHTTPError, httpx.HTTPError, OSError):
        return []
    return difflib.get_close_matches(name, sorted(found), n=3, cutoff=0.7)


def unreachable(name: str, error: BaseException) -> CallFailure:
    """The failure for a hub that does not answer, or not as one."""
    return CallFailure(
        "bad_input",
        f'Cannot fetch the model "{name}": it is neither a file nor a directory here, and the hub'
        f" cannot be reached ({one_line(chain(error)[-1], 120)})",
        hint="Check the network, give a path, or use demo",
    )
