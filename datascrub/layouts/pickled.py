"""Python pickles: named as such, and never loaded, because loading one runs whatever it says."""

from __future__ import annotations

import pickletools
from collections.abc import Mapping, Sequence
from typing import ClassVar

from datascrub.layouts.base import Fit, Layout, Record
from datascrub.media.sniff import sniff
from datascrub.model import Column, Field, Limits, Problem

_OLD_STARTS = b"(]}cSVIFLNXUKMJG"
"""first bytes of pickles of protocol 0 and 1, which carry no mark"""
_OLD_BYTES = 1 << 16
"""an unmarked pickle is told by reading its opcodes; longer ones are not worth it"""


def is_pickle(value: bytes) -> bool:
    """Whether these bytes are a pickle of any protocol. Its opcodes are read, none is run."""
    if sniff(value).name == "pickle":
        return True
    # "4." and "(." would do as pickles and are text.
    if not (3 < len(value) <= _OLD_BYTES and value[-1:] == b"." and value[:1] in _OLD_STARTS):
        return False
    try:
        for _ in pickletools.genops(value):
            pass
    except (ValueError, UnicodeDecodeError, OverflowError):
        return False
    return True


class Pickled(Layout):
    """A pickle per record. It has no fields: nothing in it is looked at."""

    name: ClassVar[str] = "pickled"
    title: ClassVar[str] = "Python pickles"
    specificity: ClassVar[int] = 1

    def fit(self, records: Sequence[Record]) -> Fit | None:
        values = [record.value for record in records if record.value is not None]
        count = sum(map(is_pickle, values))
        return Fit(count / len(values), ()) if count else None

    def decode(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> tuple[dict[str, Column], Mapping[int, Problem]]:
        return {}, {}
