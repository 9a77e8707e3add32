"""What a record layout is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from datascrub.config import FieldConfig
from datascrub.model import Column, Field, Limits, Problem


class Record(NamedTuple):
    """One stored record: the container's key bytes (empty where it has none) and the value; value None: not there, or not to be touched."""

    key: bytes
    value: bytes | None


@dataclass(frozen=True)
class Fit:
    """How well a layout fits the probed records.

    share: of the probed records, from 0 to 1, that parse as this layout and make sense in it.
    fields: what a sample then holds, roles guessed; shape and dtype where the great majority agrees.
    labels: label values met, for a person; task: guessed from them.
    """

    share: float
    fields: tuple[Field, ...]
    labels: tuple[object, ...] = ()
    task: str | None = None
    notes: tuple[str, ...] = ()


class Layout(ABC):
    """Bytes of records -> columns. Stateless: everything it needs stands in the fields of the plan."""

    name: ClassVar[str]
    title: ClassVar[str]
    specificity: ClassVar[int] = 0
    """Where several layouts fit equally well, the more specific one (higher) is taken."""

    @abstractmethod
    def fit(self, records: Sequence[Record]) -> Fit | None:
        """How well the probed records fit; None where they don't at all. Any bytes may come; never raises for them."""

    @abstractmethod
    def decode(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> tuple[dict[str, Column], Mapping[int, Problem]]:
        """Columns of N samples, each given as its records (see companions), and what was wrong with some, by position.

        A column for each field whose role is not ignore: a dense array where all N values have one shape and dtype, else a list with None where
        missing. A sample whose first record's value is None gives None everywhere, and no problem of its own.
        """

    def declared(self, fields: Sequence[Field], its: Mapping[str, FieldConfig]) -> tuple[Field, ...]:
        """The fields, with the shapes and number types that the owner declares of raw bytes; most layouts hold none."""
        return tuple(fields)

    def is_sample(self, key: bytes) -> bool:
        """Whether the record of this key begins a sample; metadata (counts, indices) and companions do not."""
        return True

    def companions(self, key: bytes) -> tuple[bytes, ...]:
        """Keys of the further records that belong to the sample that begins at this key."""
        return ()
