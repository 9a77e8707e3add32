"""A bare encoded image per key: JPEG, PNG, … as a file would hold it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from datascrub.layouts.base import Fit, Layout, Record
from datascrub.media.sniff import format_of_suffix, sniff
from datascrub.model import Column, Field, Kind, Limits, Problem, Role

_LONGEST_SUFFIX = 5
"""characters of .jpeg without its dot, and one more: what stands behind a later dot is no suffix"""


def names_in(keys: Sequence[bytes]) -> dict[str, list[Any]]:
    """What keys such as 00000012_name.JPEG declare of their values: "extension" (".JPEG") and "format" ("jpeg"); empty where none names a format."""
    extensions: list[Any] = [None] * len(keys)
    formats: list[Any] = [None] * len(keys)
    is_any = False
    for row, key in enumerate(keys):
        dot = key.rfind(b".")
        if dot < 0 or not 0 < len(key) - dot - 1 <= _LONGEST_SUFFIX or not key[dot + 1 :].isalnum():
            continue
        suffix = key[dot:].decode("ascii", "replace")
        formats[row] = format_of_suffix(suffix)
        if formats[row]:
            extensions[row], is_any = suffix, True
    return {"extension": extensions, "format": formats} if is_any else {}


def no_bytes() -> Problem:
    return Problem("record-empty", "the record holds no bytes")


class EncodedImage(Layout):
    """The value is the image, whatever it looks like: a page of HTML among JPEGs is a bad image, not another kind of record."""

    name: ClassVar[str] = "encoded-image"
    title: ClassVar[str] = "an encoded image per record"
    specificity: ClassVar[int] = 2

    def fit(self, records: Sequence[Record]) -> Fit | None:
        contents = [sniff(record.value) for record in records if record.value is not None]
        formats = Counter(content.name for content in contents if content.is_image)
        if not formats:
            return None
        declared = tuple(names_in([record.key for record in records]))
        note = (
            "holds "
            + ", ".join(f"{count} {name}" for name, count in sorted(formats.items(), key=lambda item: (-item[1], item[0])))
            + " among the probed"
        )
        return Fit(formats.total() / len(contents), (Field("image", Role.IMAGE, Kind.ENCODED, declared=declared),), notes=(note,))

    def decode(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> tuple[dict[str, Column], Mapping[int, Problem]]:
        values: list[Any] = [records[0].value for records in samples]
        problems = {row: no_bytes() for row, value in enumerate(values) if value is not None and not value}
        for row in problems:
            values[row] = None
        declared = names_in([records[0].key for records in samples])
        return {field.name: Column(field, values, declared, limits) for field in fields if field.role is not Role.IGNORE}, problems
