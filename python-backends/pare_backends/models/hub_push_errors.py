"""What the hub's answers to a push mean for a user: one sentence each, never with a token."""

from __future__ import annotations

from pare_backends.failures import CallFailure, chain, one_line


def push_refusal(
    repo_id: str, endpoint: str, error: BaseException, created: bool
) -> CallFailure | None:
    """The failure that an error of a push stands for; None for what is no answer of a hub.

    created: the repository was made by this push, and is empty
    """
    import httpx
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    if isinstance(error, CallFailure):
        return None
    start = f'Cannot push to "{repo_id}"'
    left = (
        "; the repository was made and is empty"
        if created
        else "; no commit was made: the repository shows nothing of it"
    )
    if isinstance(error, HFValidationError):
        return CallFailure(
            "bad_input",
            f"{start}: that is no repository's name",
            hint="Give OWNER/NAME, such as you/model-4bit",
        )
    if isinstance(error, HfHubHTTPError):
        return _of_status(start, endpoint, error.response.status_code, left)
    if isinstance(error, (httpx.HTTPError, httpx.InvalidURL, OSError)):
        why = one_line(chain(error)[-1], 120)
        return CallFailure(
            "bad_input",
            f"{start}: the hub at {endpoint} cannot be reached, or broke off ({why}){left}",
            hint="Check the network and the address, then push again",
        )
    return None


def _of_status(start: str, endpoint: str, status: int, left: str) -> CallFailure:
    if status == 401:
        reason, hint = (
            "the hub does not accept HF_TOKEN",
            "Make a new token, and set HF_TOKEN to it",
        )
        left = ""
    elif status == 403:
        reason = "HF_TOKEN has no right to write there"
        hint = "Give a token with the right to write, and an owner that it may write for"
    elif status == 404:
        reason = f"the hub at {endpoint} has no such repository, or HF_TOKEN may not see it"
        hint = "Check the owner's name and the address"
    else:
        reason, hint = f"the hub at {endpoint} is out of order", "Push again later"
    return CallFailure("bad_input", f"{start}: {reason} (status {status}){left}", hint=hint)
