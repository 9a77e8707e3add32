"""Which encoder wrote a picture: quantisation tables, program, format, as evidence for where it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.encoder_tags import tags_of

# Each fingerprint has a usual value where nearly all pictures share it. Of what hardly any picture has (a program where the others name none, another
# format), one in a thousand is odd: a set that was collected from many hands has a few of them. The size is told beside another oddity alone.
_ODD = """
    WITH held AS (
        SELECT number, {field}.quantisation AS quantisation, coalesce({field}.software, {field}.encoder_comment, '') AS software,
            {field}.format AS format, {field}.width || ' x ' || {field}.height AS size,
            coalesce({field}.format = {field}.declared_format, true) AS is_named_so
        FROM facts WHERE {field}.format IS NOT NULL
    ), usual AS (
        SELECT mode(quantisation) AS quantisation, mode(software) AS software, mode(format) AS format, mode(size) AS size,
            count(*) AS total, count(quantisation) AS jpegs FROM held
    ), shares AS (
        SELECT usual.*, count(*) FILTER (held.quantisation = usual.quantisation) AS as_quantised,
            count(*) FILTER (held.software = usual.software) AS by_it, count(*) FILTER (held.format = usual.format) AS of_it,
            count(*) FILTER (held.size = usual.size) AS as_large
        FROM held, usual GROUP BY ALL
    ), judged AS (
        SELECT number, nullif(held.software, '') AS software,
            CASE WHEN held.quantisation <> u.quantisation AND jpegs >= 50 AND as_quantised >= $evident_share * jpegs
                THEN format('quantised otherwise than {:,} of {:,} JPEG pictures', as_quantised, jpegs) END AS quantised,
            CASE WHEN held.software = u.software OR by_it < $evident_share * total
                    OR (u.software = '' AND total - by_it > greatest(1, total // 1000)) THEN NULL
                WHEN held.software = '' THEN format('names no program, as {:,} of {:,} do ({})', by_it, total, u.software)
                WHEN u.software = '' THEN format('written by {}, where {:,} of {:,} name no program', held.software, by_it, total)
                ELSE format('written by {}, {:,} of {:,} by {}', held.software, by_it, total, u.software) END AS written,
            CASE WHEN held.format <> u.format AND is_named_so AND total - of_it <= greatest(1, total // 1000)
                THEN format('{} among {:,} of {:,} in {}', held.format, of_it, total, u.format) END AS formed,
            CASE WHEN held.size <> u.size AND as_large >= $evident_share * total
                THEN format('{} pixels, {:,} of {:,} have {}', held.size, as_large, total, u.size) END AS sized
        FROM held, shares AS u WHERE total >= 50
    )
    SELECT number, software, concat_ws('; ', quantised, written, formed, sized) AS told
    FROM judged WHERE coalesce(quantised, written, formed) IS NOT NULL ORDER BY number"""


@dataclass(frozen=True)
class ImageEncoder(Validator):
    """A picture that another encoder wrote than those of the set.

    What it finds
        image-encoder-odd (info): 98 of 100 JPEG pictures have the same quantisation tables, this one has others; 98 of 100 pictures name the same
        program (EXIF Software, a JPEG's comment, a PNG's text Software), this one another or none; one in a thousand names a program where the
        others name none; one in a thousand is of another format, under the right name. A foreign size is told beside. It says nothing against the
        picture: it is evidence, beside a QR code or a text page, that the picture did not come from where the others did.

    Why it breaks training
        It does not. But a set that one camera or one program wrote has one hand, and a picture of another hand was put there later: the page of a
        shop that was hijacked, a placeholder, a picture somebody retouched.

    Example
        cat/17.jpg  image-encoder-odd  quantised otherwise than 9,998 of 10,000 JPEG pictures; written by gd-jpeg v1.0, where 9,999 of 10,000 name
        no program

    What to do
        Look at the picture, where something else is odd about it.

    Parameters and facts
        evident_share: 0.98. Asks for 50 pictures. Facts: quantisation (64 bits of a hash of the tables) and encoder_comment, NULL where the picture
        is no JPEG; software, NULL where none is named.
    """

    evident_share: float = 0.98

    version: ClassVar[int] = 2
    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ENCODED})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "quantisation": Measurement("VARCHAR", "xxh3-64 of the quantisation tables of a JPEG; NULL for other formats"),
        "encoder_comment": Measurement("VARCHAR", "the comment in a JPEG's header, at most 80 characters; NULL without one"),
        "software": Measurement("VARCHAR", "the program that EXIF, or a PNG's text, names, at most 80 characters; NULL without one"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for row, value in enumerate(column.values):
            if value is not None:
                tags = tags_of(value)
                made["quantisation"][row], made["encoder_comment"][row], made["software"][row] = tags.quantisation, tags.comment, tags.software
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "image-encoder-odd",
                Severity.INFO,
                "{told}",
                fix="look at the picture, where something else is odd about it",
                sql=_ODD,
                scope="sample",
                needs=("quantisation", "encoder_comment", "software", "format", "declared_format", "width", "height"),
                minimum=50,
            ),
        )
