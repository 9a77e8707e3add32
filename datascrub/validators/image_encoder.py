"""Which encoder wrote a JPEG: its quantisation tables and its comment, as evidence for where a picture came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xxhash

from datascrub.keys import printable
from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator

_DQT, _SOS, _COMMENT = 0xDB, 0xDA, 0xFE
_MOST_SEGMENTS = 256

_ODD = """
    WITH counted AS (
        SELECT {field}.quantisation AS quantisation, count(*) AS samples, sum(count(*)) OVER () AS total
        FROM facts WHERE {field}.quantisation IS NOT NULL GROUP BY ALL
    ), usual AS (
        SELECT * FROM counted WHERE total >= 50 AND samples >= $evident_share * total AND samples < total
    )
    SELECT number, {field}.encoder_comment AS comment, usual.samples AS samples, usual.total::BIGINT AS of
    FROM facts, usual WHERE {field}.quantisation <> usual.quantisation ORDER BY number"""


@dataclass(frozen=True)
class ImageEncoder(Validator):
    """A JPEG that another encoder wrote than those of the set.

    What it finds
        image-encoder-odd (info): 98 of 100 JPEG pictures have the same quantisation tables, this one has others. It says nothing against the
        picture: it is evidence beside a QR code, a foreign size or another format, that the picture did not come from where the others did.

    Why it breaks training
        It does not. But a set that one camera or one program wrote has one hand, and a picture of another hand was put there later: the page of a
        shop that was hijacked, a placeholder, a picture somebody retouched.

    Example
        cat/17.jpg  image-encoder-odd  quantised otherwise than 9,998 of 10,000 JPEG pictures (comment: CREATOR: gd-jpeg v1.0)

    What to do
        Look at the picture, where something else is odd about it.

    Parameters and facts
        evident_share: 0.98. Facts: quantisation (64 bits of a hash of the tables), encoder_comment; NULL where the picture is no JPEG.
    """

    evident_share: float = 0.98

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ENCODED})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "quantisation": Measurement("VARCHAR", "xxh3-64 of the quantisation tables of a JPEG; NULL for other formats"),
        "encoder_comment": Measurement("VARCHAR", "the comment in a JPEG's header, at most 80 characters; NULL without one"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for row, value in enumerate(column.values):
            if value is not None and value[:2] == b"\xff\xd8":
                made["quantisation"][row], made["encoder_comment"][row] = _header(value)
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "image-encoder-odd",
                Severity.INFO,
                "quantised otherwise than {samples:,} of {of:,} JPEG pictures (comment: {comment})",
                fix="look at the picture, where something else is odd about it",
                sql=_ODD,
                scope="sample",
                needs=("quantisation", "encoder_comment"),
                minimum=50,
            ),
        )


def _header(value: bytes) -> tuple[str | None, str | None]:
    """(hash of the quantisation tables, comment) from the segments before the first scan. Source: ITU-T T.81, B.1.1 and B.2.4."""
    tables, comment, at = b"", None, 2
    for _ in range(_MOST_SEGMENTS):
        if at + 4 > len(value) or value[at] != 0xFF:
            break
        marker, length = value[at + 1], int.from_bytes(value[at + 2 : at + 4], "big")
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        if marker == _SOS or length < 2:
            break
        if marker == _DQT:
            tables += value[at + 4 : at + 2 + length]
        elif marker == _COMMENT and comment is None:
            comment = printable(value[at + 4 : at + 2 + min(length, 400)].decode("utf-8", "replace").strip("\x00 \r\n"))[:80] or None
        at += 2 + length
    return (xxhash.xxh3_64_hexdigest(tables) if tables else None), comment
