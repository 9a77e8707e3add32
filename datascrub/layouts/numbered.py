"""Layouts whose samples carry a number in their keys, and whose count stands in a record of its own."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from datascrub.layouts.base import Layout


class Numbered(Layout):
    """Samples 1, 2, 3, …: loaders read the count and then ask for each number, so that a gap or a wrong count breaks them."""

    count_key: ClassVar[bytes]

    @abstractmethod
    def number(self, key: bytes) -> int | None:
        """The number in a key, of a first record or a companion; None where it carries none."""

    @abstractmethod
    def keys_of(self, number: int) -> tuple[bytes, ...]:
        """The keys of the records of sample `number`, the first one first."""

    @abstractmethod
    def declared_count(self, value: bytes) -> int | None:
        """The count that the record of count_key holds; None where it is no number."""

    @abstractmethod
    def count_value(self, count: int) -> bytes:
        """The value of the record of count_key."""
