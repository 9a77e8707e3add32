"""Bytes that no layout knows. The records are counted and copied; what they mean nobody here can say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from datascrub.layouts.base import Fit, Layout, Record
from datascrub.model import Column, Field, Limits, Problem


class Opaque(Layout):
    """Fits anything, and is taken last."""

    name: ClassVar[str] = "unknown"
    title: ClassVar[str] = "records of no known layout"
    specificity: ClassVar[int] = -1

    def fit(self, records: Sequence[Record]) -> Fit | None:
        return Fit(0.0, ()) if records else None

    def decode(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> tuple[dict[str, Column], Mapping[int, Problem]]:
        return {}, {}
