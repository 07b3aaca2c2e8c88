"""What every stored form tells of itself: one file of this folder a form, `REGISTERED` lists them.

A stored form is how a weight lies on disk when it is not plain floats. It owns its bytes: which
parts it has, how they are read and written, what they stand for, what they weigh and how
config.json speaks of them. Nothing outside this folder knows a part's name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from pare_backends.checkpoint.stored import StoredTensors
from pare_backends.failures import CallFailure


class StoredTensor(ABC):
    """A weight in a stored form; frozen: another value is another object."""

    FORM: ClassVar[str]  # the form's name, as in plugins/forms/
    PARTS: ClassVar[tuple[str, ...]]  # endings of a layer's tensors in the files
    OPTIONAL: ClassVar[tuple[str, ...]] = ()  # of PARTS: a layer may lack them
    REPLACEABLE: ClassVar[bool]  # whether a later action may store the layer in another form
    STATE: ClassVar[str]  # what a layer in this form is, in a word: "quantized"
    OWN_LOADER: ClassVar[str | None] = None
    """Why no library but pare reads the form, as the end of a sentence; None: others may."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Of the weight as the model holds it."""

    @property
    def size(self) -> int:
        """Weights that the tensor stands for."""
        return math.prod(self.shape)

    @abstractmethod
    def weight(self) -> np.ndarray:
        """What the parts stand for, in the model's own shape, float32."""

    def kept_as(self, dtype: str, renamed: bool) -> Self:
        """The tensor as a checkpoint of this type holds it; the same where its parts have types of
        their own. renamed: the model has another name for the weight than the files"""
        return self

    @abstractmethod
    def parts(self) -> dict[str, np.ndarray]:
        """The tensor as it lies on disk, by the ending of the name."""

    @abstractmethod
    def formula_bytes(self) -> int:
        """Bytes of the parts, by the form's formula."""

    @abstractmethod
    def check(self, name: str) -> None:
        """Raises `CallFailure` where the parts do not fit together or are no numbers."""

    @classmethod
    @abstractmethod
    def layers(cls, names: Collection[str]) -> list[str]:
        """Layers that files with tensors of these names hold in this form, in their order."""

    @classmethod
    @abstractmethod
    def read(cls, stored: StoredTensors, layer: str, config: Mapping[str, Any]) -> Self:
        """One layer from its parts. config: config.json"""

    @classmethod
    def found_parts(cls, stored: StoredTensors, layer: str) -> list[np.ndarray]:
        """The parts that every layer has, in the order of `PARTS`; raises `CallFailure` where one
        is gone."""
        needed = [part for part in cls.PARTS if part not in cls.OPTIONAL]
        missing = [part for part in needed if f"{layer}{part}" not in stored]
        if missing:
            raise CallFailure(
                "bad_input",
                f"Cannot read {layer}: it is stored as {cls.FORM}, and its file has no"
                f" {layer}{missing[0]}",
                hint="The checkpoint is damaged: copy or make it again",
            )
        return [stored[f"{layer}{part}"] for part in needed]

    @classmethod
    @abstractmethod
    def config_entry(cls, tensors: Mapping[str, Any]) -> dict[str, Any]:
        """What config.json says of these layers: keys of it or, of a form with an own loader, what
        stands under the form's name."""
