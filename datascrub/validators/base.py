"""What a validator is."""

from __future__ import annotations

import dataclasses
import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from datascrub.config import PRECISIONS
from datascrub.model import OBJECTS, Column, Field, Finding, Kind, Role
from datascrub.rules import Measurement, Rule
from datascrub.rules.rows import RowJudge

UNDECLARED: Mapping[str, Any] = {
    "task": "classification", "classes": None, "class_names": None, "ignore_labels": (), "precision": "float32",
    "precision_max": PRECISIONS["float32"], "batch_size": None, "loader": "",
}  # fmt: skip
"""what is taken for declared where one value is judged without a plan, by the names that conditions use"""
_DTYPES: Mapping[str, Any] = {"BOOLEAN": bool, "BIGINT": np.int64, "DOUBLE": np.float64}


@dataclasses.dataclass(frozen=True)
class Validator(ABC):
    """Measures one column of a batch, and holds the rules that judge its measurements.

    A frozen dataclass: its fields are its parameters, and each may be set in `[rules.<code>]` of the configuration, but those that it measures with.
    Its docstring is its page.
    """

    roles: ClassVar[frozenset[Role]]
    kinds: ClassVar[frozenset[Kind]]
    measures: ClassVar[Mapping[str, Measurement]]
    measured_with: ClassVar[frozenset[str]] = frozenset()
    """parameters that measuring needs: a scan sets them by flags of its own, and a later judging can't change them"""
    sees_objects: ClassVar[bool] = False
    """whether it looks at the classes of objects, too, which are an array only in their form"""
    version: ClassVar[int] = 1
    """Goes up when the same bytes would be measured differently, so that older facts are not taken over."""

    @classmethod
    def name(cls) -> str:
        """The name of class and file with hyphens: ImageIntegrity -> image-integrity."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()

    def applies(self, field: Field) -> bool:
        """Whether it measures this field."""
        return field.role in self.roles and field.kind in self.kinds and (self.sees_objects or OBJECTS not in field.declared)

    def parameters(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    @abstractmethod
    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        """One value for each sample and measurement: (N,) arrays. NULL, "not measured", is a masked entry (None in text and list columns).

        Non-finite numbers never travel as floats: they are counted, or told by a boolean.
        """

    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """The rules that judge the measurements."""

    def blank(self, count: int) -> dict[str, np.ndarray]:
        """All measurements of `count` samples, NULL everywhere: fill in what is known (assigning unmasks)."""
        made: dict[str, np.ndarray] = {}
        for name, measurement in self.measures.items():
            dtype = _DTYPES.get(measurement.type)
            made[name] = np.full(count, None, object) if dtype is None else np.ma.MaskedArray(np.zeros(count, dtype), np.ones(count, bool))
        return made

    def check(self, value: Any, key: str | None = None) -> list[Finding]:
        """Findings on one value: bytes, a numpy array, a PIL image, a torch tensor, a number or a text. Rules about the set are not asked."""
        column = as_column(value, self.roles, self.kinds)
        return _judge_of(self).findings(column.field.name, self.measure(column), [key])


@functools.lru_cache(maxsize=64)
def _judge_of(validator: Validator) -> RowJudge:
    """The compiled row rules of a validator: compiling costs more than most checks."""
    own = {name: parameter for name, parameter in validator.parameters().items() if parameter is not None}
    return RowJudge(validator.rules(), frozenset(validator.measures), {**UNDECLARED, **own})


def as_column(value: Any, roles: frozenset[Role], kinds: frozenset[Kind], name: str | None = None) -> Column:
    """One value as a column of one, in a role that `roles` allows.

    Raises TypeError where the value can't be what these roles and kinds hold.
    """
    held: Any
    if isinstance(value, (bytes, bytearray, memoryview)):
        held, kind = bytes(value), Kind.ENCODED if Kind.ENCODED in kinds else Kind.TEXT
    elif isinstance(value, str):
        held, kind = value, Kind.TEXT
    elif hasattr(value, "getbands") and Kind.ARRAY not in kinds:  # a Pillow image, for those who look at encoded ones
        held, kind = _as_png(value), Kind.ENCODED
    elif value is None:
        held, kind = None, Kind.ARRAY if Kind.ARRAY in kinds else next(iter(kinds))
    else:
        held, kind = _as_array(value), Kind.ARRAY
    if kind not in kinds:
        raise TypeError(f"a validator of {', '.join(sorted(kinds))} can't check {type(value).__name__}")
    order = (Role.IMAGE, Role.ARRAY, Role.LABEL, Role.TEXT, Role.MASK, Role.BOXES, Role.WEIGHT, Role.ID)
    role = next(role for role in order if role in roles)
    dtype, shape = (str(held.dtype), tuple(held.shape)) if isinstance(held, np.ndarray) else (None, None)
    return Column(Field(name or role.value, role, kind, dtype, shape), [held])


def _as_png(image: Any) -> bytes:
    import io

    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def _as_array(value: Any) -> np.ndarray:
    if hasattr(value, "detach"):  # torch: numpy refuses a tensor that needs a gradient or lives on a device, and has no bfloat16
        tensor = value.detach().cpu()
        return np.asarray(tensor.float() if "bfloat16" in str(tensor.dtype) else tensor)
    return np.asarray(value)
