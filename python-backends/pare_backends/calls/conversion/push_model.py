"""Call `push_model`: files into a repository of a Hugging Face-compatible hub, as one commit.

Source of the protocol: `huggingface_hub` (create, preupload, LFS batch, commit), Apache-2.0.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pare_backends.failures import CallFailure
from pare_backends.models.hub_push_errors import push_refusal
from pare_backends.progress import Report

KEPT_BY_THE_HUB = {".gitattributes"}
"""What a hub itself puts into a repository."""


@dataclass(frozen=True)
class File:
    """One file: its name in the repository, and where it lies here."""

    name: str
    path: str


@dataclass(frozen=True)
class Request:
    """`push_model` of the wire."""

    repo_id: str
    endpoint: str | None
    private: bool
    replace: bool
    message: str
    files: list[File]


def run(request: Request, report: Report) -> dict[str, Any]:
    """The result of `core/calls/declared/conversion/push_model.ts`."""
    # LFS is what every compatible hub speaks; the other way of upload is one hub's own.
    os.environ["HF_HUB_DISABLE_XET"] = "1"
    from huggingface_hub import HfApi, constants, get_token

    files = [one if isinstance(one, File) else File(**one) for one in request.files]
    endpoint = request.endpoint or constants.ENDPOINT
    if get_token() is None:
        raise CallFailure(
            "bad_input",
            f'Cannot push to "{request.repo_id}": HF_TOKEN is not set, and nobody is logged in',
            hint=f"Set HF_TOKEN to a token of {endpoint} with the right to write",
        )
    api = HfApi(endpoint=endpoint)
    created = False
    try:
        with report.span("push", library=True):
            created = _create(api, request)
            if not created and not request.replace:
                _refuse_others(api, request.repo_id, {one.name for one in files})
            commit = _upload(api, request, files, report)
            _check_arrived(api, request.repo_id, commit, files)
    except Exception as error:
        failure = push_refusal(request.repo_id, endpoint, error, created)
        if failure is None:
            raise
        raise failure from error
    return {
        "url": f"{endpoint}/{request.repo_id}",
        "commit": commit,
        "created": created,
        "bytes": sum(Path(one.path).stat().st_size for one in files),
    }


def _create(api: Any, request: Request) -> bool:
    """Makes the repository; False where it is there already."""
    from huggingface_hub.errors import HfHubHTTPError

    try:
        api.create_repo(request.repo_id, private=request.private, repo_type="model")
    except HfHubHTTPError as error:
        if error.response.status_code == 409:
            return False
        raise
    return True


def _refuse_others(api: Any, repo_id: str, names: set[str]) -> None:
    """Refuses a repository with files that this push would leave beside its own."""
    others = sorted(set(api.list_repo_files(repo_id)) - names - KEPT_BY_THE_HUB)
    if not others:
        return
    shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
    raise CallFailure(
        "bad_input",
        f'Cannot push to "{repo_id}": it has files that are not of this checkpoint ({shown})',
        hint="Name a new repository, or give --force to put the checkpoint beside them",
    )


def _upload(api: Any, request: Request, files: list[File], report: Report) -> str:
    """Uploads each file, then makes the commit that shows them all at once. returns: its hash"""
    from huggingface_hub import CommitOperationAdd

    operations = []
    for done, one in enumerate(files):
        report.progress(f"upload {one.name}", done, len(files), "files")
        operation = CommitOperationAdd(path_in_repo=one.name, path_or_fileobj=one.path)
        api.preupload_lfs_files(request.repo_id, [operation], free_memory=False)
        operations.append(operation)
    report.progress("commit", len(files), len(files), "files")
    info = api.create_commit(request.repo_id, operations, commit_message=request.message)
    return str(info.oid)


def _check_arrived(api: Any, repo_id: str, commit: str, files: list[File]) -> None:
    """Asks the hub what the commit holds: nothing is called pushed that is not there."""
    found = {
        one.path: one.size
        for one in api.get_paths_info(repo_id, [file.name for file in files], revision=commit)
    }
    for file in files:
        size = Path(file.path).stat().st_size
        if found.get(file.name) != size:
            there = found.get(file.name, "missing")
            raise CallFailure(
                "verification",
                f'The push to "{repo_id}" is not whole: {file.name} has {size} bytes here, and'
                f" {there} in commit {commit}",
                hint="Push again",
            )
