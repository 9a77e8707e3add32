"""Size, channels and mode of pictures, against what is declared and against the rest of the set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from datascrub.media.picture import Picture, pictures
from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule, SetRule
from datascrub.validators.base import Validator

_CHANNEL_COUNTS = (1, 3, 4)


@dataclass(frozen=True)
class ImageShape(Validator):
    """Do size, channels and mode fit what is declared, and the rest of the set?

    What it finds: width or height other than the record declares, the CMYK picture among RGB ones, 16 bits among 8, pictures of a few pixels or
    stored turned (EXIF), arrays whose axes look swapped (24 x 32 x 3 declared as 24 channels).

    Why it breaks training: a loader that expects three channels dies or converts inks to false colours; boxes computed for another size miss; a
    swapped array trains on stripes.

    Example: image/height and image/width say 480 x 640, the JPEG is 40 x 48: image-size-mismatch.

    What to do: convert the odd one, correct the declared size, or transpose.

    Parameters and facts: small_side, the side in pixels below which a picture is very small; odd_share, the share of the set up to which a mode is
    odd. width, height, channels, bits, mode, pixel_kind, frames, has_alpha, orientation, declared_width, declared_height, declared_channels,
    looks_swapped.
    """

    small_side: int = 4
    odd_share: float = 0.01

    roles: ClassVar[frozenset[Role]] = frozenset((Role.IMAGE,))
    kinds: ClassVar[frozenset[Kind]] = frozenset((Kind.ENCODED, Kind.ARRAY))
    measures: ClassVar[Mapping[str, Measurement]] = {
        "width": Measurement("BIGINT", "width as stored, not turned by EXIF", "pixels", ">= 1"),
        "height": Measurement("BIGINT", "height as stored, not turned by EXIF", "pixels", ">= 1"),
        "channels": Measurement("BIGINT", "samples a pixel as stored; a palette picture has 1", range=">= 1"),
        "bits": Measurement("BIGINT", "bits of one sample", "bits", "1 to 64"),
        "mode": Measurement("VARCHAR", "L, RGB, RGBA, CMYK, P, I;16, …; of arrays the dtype"),
        "pixel_kind": Measurement(
            "VARCHAR", "what a loader must be ready for", range="8-bit colour, 16-bit gray, 8-bit cmyk, 8-bit colour with alpha, …"
        ),
        "frames": Measurement("BIGINT", "pictures in the file", range=">= 1"),
        "has_alpha": Measurement("BOOLEAN", "whether pixels may be transparent"),
        "orientation": Measurement("BIGINT", "EXIF's orientation; 1 is upright", range="1 to 8"),
        "declared_width": Measurement("BIGINT", "the width that the record declares", "pixels"),
        "declared_height": Measurement("BIGINT", "the height that the record declares", "pixels"),
        "declared_channels": Measurement("BIGINT", "the channels that the record declares"),
        "looks_swapped": Measurement("BOOLEAN", "whether an array's last axis is as long as channels are, and its first is not"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        if column.field.kind is Kind.ENCODED:
            _fill(made, pictures(column))
        else:
            for rows, block in column.blocks():
                _fill_block(made, rows, block)
        for name in ("width", "height", "channels"):
            _declared(made[f"declared_{name}"], column.declared.get(name))
        if column.field.kind is Kind.ARRAY:
            _swapped(made)
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            RowRule(
                "image-size-mismatch",
                Severity.WARNING,
                "declared {declared_width} x {declared_height}, is {width} x {height}",
                ("width", "height", "declared_width", "declared_height"),
                "correct what is declared; boxes in pixels may be wrong too",
                where="width != declared_width or height != declared_height",
                common="set",
            ),
            RowRule(
                "image-channels-mismatch",
                Severity.WARNING,
                "declared {declared_channels} channels, has {channels}",
                ("channels", "declared_channels", "mode"),
                "convert the picture, or correct what is declared",
                where="channels != declared_channels and mode != 'P'",
                common="set",
            ),
            RowRule(
                "image-very-small",
                Severity.WARNING,
                "only {width} x {height} pixels",
                ("width", "height"),
                "look at the picture: a tracking pixel, a line, a failed crop?",
                where="width < small_side or height < small_side",
                common="set",
            ),
            RowRule(
                "image-shape-suspicious",
                Severity.WARNING,
                "{channels} channels of {height} x {width}: the last axis looks like the channels",
                ("channels", "height", "width"),
                "transpose the arrays, or correct the declared order of their axes",
                where="looks_swapped",
                common="set",
            ),
            RowRule(
                "image-orientation",
                Severity.INFO,
                "stored turned: EXIF orientation {orientation}, which many loaders ignore",
                ("orientation",),
                "turn the pixels and drop the tag; boxes must be turned with them",
                where="orientation > 1",
                common="set",
            ),
            SetRule(
                "image-mode-odd",
                Severity.WARNING,
                "{pixel_kind} (mode {mode}) among {majority}: {majority_count:,} of {total:,} pictures",
                ("pixel_kind", "mode", "majority", "majority_count", "total"),
                "convert the picture as the others are",
                sql=_ODD,
                scope="sample",
                needs=("pixel_kind", "mode"),
                minimum=4,
            ),
        )


_ODD = """
WITH counted AS (
    SELECT {field}.pixel_kind AS pixel_kind, count(*) AS n, sum(count(*)) OVER () AS total
    FROM facts WHERE {field}.pixel_kind IS NOT NULL GROUP BY 1
), most AS (SELECT pixel_kind AS majority, n AS majority_count FROM counted ORDER BY n DESC, pixel_kind LIMIT 1)
SELECT number, counted.pixel_kind, {field}.mode AS mode, majority, majority_count::BIGINT AS majority_count, total::BIGINT AS total
FROM facts JOIN counted ON counted.pixel_kind = {field}.pixel_kind CROSS JOIN most
WHERE counted.pixel_kind <> majority AND total >= 4 AND (n <= $odd_share * total OR (n = 1 AND majority_count = total - 1))
ORDER BY number
"""


def _fill(made: dict[str, np.ndarray], decoded: Sequence[Picture | None]) -> None:
    """Takes over what the headers say, where there is one."""
    known = [(row, picture) for row, picture in enumerate(decoded) if picture is not None and picture.width > 0 and picture.height > 0]
    if not known:
        return
    rows = [row for row, _ in known]
    for name in ("width", "height", "channels", "bits", "frames", "has_alpha", "orientation"):
        made[name][rows] = [getattr(picture, name) for _, picture in known]
    made["mode"][rows] = [picture.mode or None for _, picture in known]
    made["pixel_kind"][rows] = [_pixel_kind(picture) if picture.is_ok and picture.mode else None for _, picture in known]


def _pixel_kind(picture: Picture) -> str:
    """What a loader must be ready for; fewer than 8 bits are spread to 8 by every loader, and a palette to colours."""
    is_gray = picture.channels <= 2 and picture.mode not in ("P", "PA")
    colours = "cmyk" if picture.mode == "CMYK" else "gray" if is_gray else "colour"
    return f"{max(picture.bits, 8)}-bit {colours}" + (" with alpha" if picture.has_alpha else "")


def _fill_block(made: dict[str, np.ndarray], rows: np.ndarray, block: np.ndarray) -> None:
    """Arrays of one shape: (n, h, w), (n, c, h, w) or (n, h, w, c). Where both outer axes, or none, could be the channels, the first is."""
    made["bits"][rows], made["mode"][rows] = 8 * block.dtype.itemsize, str(block.dtype)
    if block.ndim not in (3, 4):
        return
    first, *_, last = block.shape[1:]
    is_last = block.ndim == 4 and first not in _CHANNEL_COUNTS and last in _CHANNEL_COUNTS
    channels = 1 if block.ndim == 3 else last if is_last else first
    height, width = block.shape[1:3] if block.ndim == 3 or is_last else block.shape[2:4]
    made["channels"][rows], made["height"][rows], made["width"][rows] = channels, height, width


def _swapped(made: dict[str, np.ndarray]) -> None:
    """Marks arrays whose record declares channels in a number that fits none, where another axis fits. Undeclared (h, w, c) is a custom, no fault."""
    declared, channels = made["declared_channels"], made["channels"]
    known = ~np.ma.getmaskarray(declared) & ~np.ma.getmaskarray(channels)
    made["looks_swapped"][known] = (declared != channels)[known] & ~np.isin(declared.data, _CHANNEL_COUNTS)[known]


def _declared(column: np.ndarray, values: Sequence[Any] | np.ndarray | None) -> None:
    """Takes over what the source declares, where it declares a positive number."""
    if values is None:
        return
    if isinstance(values, np.ndarray):
        column[values > 0] = values[values > 0]
        return
    for row, value in enumerate(values):
        if value is not None and int(value) > 0:
            column[row] = int(value)
