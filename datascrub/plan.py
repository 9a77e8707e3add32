"""The plan of a scan: what the source is, decided once for the set, written into the run, and never guessed again per sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from datascrub.config import PRECISIONS, DataConfig, FieldConfig
from datascrub.model import Field, Limits, Role

ROUNDING = 1e-6
"""of an end of a declared range: 1.0000001 is 1, rounded"""

_ZERO_BITS: Mapping[str, int] = {"float32": 150, "float16": 25, "bfloat16": 134}
"""2 to this power, negative, is half of the smallest number above 0, and rounds to it (IEEE 754-2019)"""


@dataclass(frozen=True)
class Plan:
    """What every shard is read and measured by.

    container: name of the reader. layout: name of the record layout, None where the container has none of its own.
    settings: the reader's own JSON values (sub-databases, files, compression …), as its survey found them.
    fingerprint: the reader's account of the source's outside (sizes, times), to notice a change.
    task: declared, else guessed from the probed labels.
    """

    source: str
    container: str
    layout: str | None
    fields: tuple[Field, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    data: DataConfig = DataConfig()
    limits: Limits = Limits()
    task: str = "unlabelled"

    def fields_of(self, *roles: Role) -> tuple[Field, ...]:
        return tuple(f for f in self.fields if f.role in roles)

    def declared(self) -> dict[str, Any]:
        """What the owner declares of the set, by the names that conditions use; None where nothing is declared."""
        return {
            "task": self.task,
            "classes": self.data.class_count,
            "class_names": self.data.classes if isinstance(self.data.classes, tuple) else None,
            "ignore_labels": self.data.ignore_labels,
            "precision": self.data.precision,
            "precision_max": PRECISIONS[self.data.precision],
            "batch_size": self.data.batch_size,
            "loader": self.data.loader or "",
        }

    def declared_of(self, name: str) -> dict[str, Any]:
        """What the owner declares of the values of one field, by the names that conditions use; None where nothing is declared."""
        its = self.data.fields.get(name, FieldConfig())
        low, high = its.range or (None, None)
        ends = [abs(end) for end in its.range or () if math.isfinite(end)]
        return {
            "range_low": low,
            "range_high": high,
            "range_slack": ROUNDING * max(ends, default=0.0),
            "positive": its.positive,
            "nonzero": its.nonzero,
            "exp": its.exp,
            "exp_limit": math.log(PRECISIONS[self.data.precision]),
            "exp_zero": _ZERO_BITS[self.data.precision] * math.log(2),
            "most_zeros": its.zeros,
        }
