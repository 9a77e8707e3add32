"""What a picture's name or record says it is, against what its bytes are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.media.picture import pictures
from datascrub.media.sniff import IMAGES, format_of_suffix
from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule, SetRule
from datascrub.validators.base import Validator


@dataclass(frozen=True)
class ImageFormat(Validator):
    """Are the bytes of the format that the name or the record says?

    What it finds: a PNG under a .jpg name, a JPEG in a record that says png, formats that the declared loader can't read; and, where no name says
    anything, the picture whose format is not that of the set.

    Why it breaks training: a loader that trusts the name dies, and a picture in another format than its neighbours is often another picture: the
    placeholder or QR code that a shop sent instead.

    Example: one photo of twelve was replaced by a QR code, a PNG under its .jpg name: image-format-mismatch, an error because it is the only one.

    What to do: look at the picture. A right one may be renamed; a wrong one goes.

    Parameters and facts: odd_share, the share of the set up to which a format is the odd one out. format, declared_format.
    """

    odd_share: float = 0.01

    roles: ClassVar[frozenset[Role]] = frozenset((Role.IMAGE, Role.MASK))
    kinds: ClassVar[frozenset[Kind]] = frozenset((Kind.ENCODED,))
    measures: ClassVar[Mapping[str, Measurement]] = {
        "format": Measurement("VARCHAR", "what the bytes are: jpeg, png, gif, …; NULL where they are no picture"),
        "declared_format": Measurement("VARCHAR", "what the file name or the record says they are"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        formats, suffixes = column.declared.get("format"), column.declared.get("extension")
        for row, picture in enumerate(pictures(column)):
            if picture is None:
                continue
            if picture.format in IMAGES:
                made["format"][row] = picture.format
            says = _text(formats, row) or _text(suffixes, row)
            made["declared_format"][row] = format_of_suffix(says) if says else None
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            RowRule(
                "image-format-mismatch",
                Severity.WARNING,
                "named {declared_format}, holds {format}",
                ("format", "declared_format"),
                "look at the picture: rename it, or leave it out",
                where="format is not None and declared_format is not None and format != declared_format",
                common="set",
                rare=Severity.ERROR,
            ),
            RowRule(
                "image-format-unreadable",
                Severity.ERROR,
                "holds {format}, which the declared loader does not read",
                ("format",),
                "convert the picture, or declare another loader",
                where=" or ".join(f"loader == '{loader}' and format not in {formats!r}" for loader, formats in _READ_BY.items()),
            ),
            SetRule(
                "image-format-mismatch",
                Severity.WARNING,
                "holds {format}, {majority_count:,} of {total:,} pictures hold {majority}",
                ("format", "majority", "majority_count", "total"),
                "look at the picture",
                sql=_ODD,
                scope="sample",
                needs=("format", "declared_format"),
                minimum=10,
            ),
        )


_READ_BY: Mapping[str, tuple[str, ...]] = {
    "tensorflow": ("jpeg", "png", "gif", "bmp"),
    "torchvision": ("jpeg", "png", "gif", "webp", "avif", "heic"),
    "opencv": ("jpeg", "png", "gif", "webp", "tiff", "bmp", "ppm", "jp2", "avif", "ras", "hdr", "exr"),
    "caffe": ("jpeg", "png", "tiff", "bmp", "ppm", "jp2", "webp", "ras"),
}
"""what tf.io.decode_image, torchvision.io.decode_image and OpenCV's imread (which Caffe calls, in builds before GIF) read"""


_ODD = """
WITH counted AS (
    SELECT {field}.format AS format, count(*) AS n, sum(count(*)) OVER () AS total
    FROM facts WHERE {field}.format IS NOT NULL AND {field}.declared_format IS NULL GROUP BY 1
), most AS (SELECT format AS majority, n AS majority_count, total FROM counted ORDER BY n DESC, format LIMIT 1)
SELECT number, {field}.format AS format, majority, majority_count::BIGINT AS majority_count, total::BIGINT AS total,
    CASE WHEN n <= $odd_share * total OR n = 1 THEN 'error' ELSE 'warning' END AS severity
FROM facts, most JOIN counted USING (total)
WHERE {field}.declared_format IS NULL AND counted.format = {field}.format AND counted.format <> majority
    AND majority_count >= 0.9 * total AND total >= 10
ORDER BY number
"""


def _text(values: Sequence[object] | np.ndarray | None, row: int) -> str:
    value = None if values is None else values[row]
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value if isinstance(value, str) else ""
