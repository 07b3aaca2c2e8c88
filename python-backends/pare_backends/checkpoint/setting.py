"""An artifact that is a setting and holds no weights: it names those that it belongs to.

Its directory holds `pare_setting.json`, and either nothing else, the weights lying where the caller
says, or the weights beside it, as in a folder that was exported. A path in the file would be
somebody else's word for a place on this machine: there is none, only the id of an artifact.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pare_backends.checkpoint.own_files import own_file
from pare_backends.failures import CallFailure
from pare_backends.knobs import build_params, unknown_name
from pare_backends.method_file import methods_in
from pare_backends.protocol import build

SETTING = "pare_setting.json"
FORMAT = 1
ATTRIBUTE = "pare_setting"
"""Of a model in memory: the setting that it runs with."""
PACKAGE = Path(__file__).parents[1]
MOST_BYTES = 100_000
"""Of the file: it holds a few numbers."""


@dataclass(frozen=True)
class Setting:
    """How a model runs, beside its weights. `PareSetting` of `core/schemas/artifact.ts`."""

    kind: str
    """Folder of the method, such as kv_cache."""
    policy: str
    """Name of the method, such as streaming."""
    values: dict[str, Any]
    """Its knobs."""
    weights: str
    """Id of the artifact that holds the weights."""
    format: int = FORMAT

    def text(self) -> str:
        """As it lies on disk: the same setting, the same bytes."""
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"

    def label(self) -> str:
        """Method and knobs, for a sentence."""
        values = ", ".join(f"{name} {value}" for name, value in sorted(self.values.items()))
        return f"{self.kind}/{self.policy} ({values})"


@dataclass(frozen=True)
class NewSetting:
    """What a method gives back in place of a checkpoint: a setting of the parent's weights."""

    values: dict[str, Any]


@dataclass(frozen=True)
class Source:
    """Where an artifact's weights lie, and the setting that it runs with."""

    weights_dir: str
    setting: Setting | None

    def attach(self, model: Any) -> Any:
        """The model of these weights, running as the setting says."""
        return model if self.setting is None else attach(model, self.setting)


def write_setting(setting: Setting, directory: str | Path) -> Path:
    """Writes the file; the directory is made where it is missing."""
    root = Path(directory)
    root.mkdir(parents=True, exist_ok=True)
    path = root / SETTING
    path.write_text(setting.text())
    return path


def read_setting(directory: str | Path) -> Setting | None:
    """The setting in a directory; None where it holds none. Raises `CallFailure` where it cannot
    be used: nothing in the file is trusted before it is checked."""
    root = Path(directory)
    if not (root / SETTING).is_symlink() and not (root / SETTING).exists():
        return None
    path = own_file(root, root / SETTING)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        payload = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CallFailure("bad_input", f"Cannot read {path}: {error}") from error
    if not isinstance(payload, Mapping) or payload.get("format") != FORMAT:
        raise CallFailure(
            "bad_input",
            f"Cannot read {path}: it must be a JSON object of format {FORMAT}",
            hint="A newer pare wrote it, or it is no setting",
        )
    setting = build(Setting, payload, SETTING)
    if re.fullmatch(r"[0-9a-f]{16}", setting.weights) is None:
        raise CallFailure(
            "bad_input", f"Cannot read {path}: weights must be an artifact's id, 16 hex digits"
        )
    method_params(setting)
    return setting


def source_of(artifact_dir: str, weights_dir: str | None = None) -> Source:
    """What an artifact's directory stands for. weights_dir: where the weights of a setting lie;
    None: beside it."""
    setting = read_setting(artifact_dir)
    if setting is None:
        if weights_dir is not None:
            raise CallFailure(
                "bad_input",
                f"Cannot take the weights of {artifact_dir} from {weights_dir}: it is no setting, "
                f"it holds no {SETTING}",
            )
        return Source(artifact_dir, None)
    place = weights_dir or artifact_dir
    if not (Path(place) / "config.json").exists():
        raise CallFailure(
            "bad_input",
            f"Cannot use {artifact_dir}: it is a setting, {setting.label()}, of the weights of the "
            f"artifact {setting.weights}, which are not in {place}",
            hint="Give the directory of these weights, or copy the setting beside them",
        )
    if weights_dir is not None and read_setting(weights_dir) is not None:
        raise CallFailure(
            "bad_input", f"Cannot use {artifact_dir}: the weights in {place} have a setting already"
        )
    return Source(place, setting)


def policy_module(setting: Setting) -> ModuleType:
    """The file that knows the setting; its names are looked up and never imported unseen."""
    kinds = [path.parent.name for path in sorted(PACKAGE.glob("*/__init__.py"))]
    kinds = [kind for kind in kinds if methods_in(PACKAGE / kind)]
    if setting.kind not in kinds:
        raise CallFailure("bad_input", unknown_name("kind of setting", setting.kind, kinds))
    known = methods_in(PACKAGE / setting.kind)
    if setting.policy not in known:
        raise CallFailure("bad_input", unknown_name("policy", setting.policy, known))
    module = importlib.import_module(f"pare_backends.{setting.kind}.{setting.policy}")
    if not hasattr(module, "attach"):
        raise CallFailure(
            "bad_input", f"Cannot run with {setting.kind}/{setting.policy}: it is no setting"
        )
    return module


def method_params(setting: Setting) -> Any:
    """The policy's knobs, each in its range. One that the file does not name came after it: its
    default leaves what the file says as it was."""
    return build_params(policy_module(setting).Params, setting.values)


def attach(model: Any, setting: Setting) -> Any:
    """The torch model, which computes as the setting says from now on."""
    model = policy_module(setting).attach(model, method_params(setting))
    setattr(model, ATTRIBUTE, setting)
    return model


def setting_of(model: Any) -> Setting | None:
    """The setting that a torch model runs with; None: it has none."""
    found: Setting | None = getattr(model, ATTRIBUTE, None)
    return found
