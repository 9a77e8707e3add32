"""Whole pictures: every byte of the pixel data decoded, and a decoder's warnings taken at their word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.media.picture import pictures
from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator


@dataclass(frozen=True)
class ImageIntegrity(Validator):
    """Is the picture whole, to the last byte?

    What it finds: empty, truncated and damaged pictures, pages and archives under a picture's name, headers that claim more than memory holds,
    codings that no decoder here reads. Every byte of the pixel data is decoded, at reduced size; the warnings of libjpeg about the data, the
    checksums of PNG, and the later frames of an animation count. Bytes behind the end, a bad colour profile, and 16-bit, CMYK or progressive
    pictures are no damage.

    Why it breaks training: a lenient decoder fills what is missing with gray or shifted blocks and says nothing; the sample trains as if it were
    whole. A strict one raises in the middle of an epoch.

    Example: 600 zero bytes inside a JPEG pass Pillow, OpenCV and TensorFlow; libjpeg warns "premature end of data segment": image-damaged.

    What to do: fetch the picture again; leave it out meanwhile, as the cleaned copy does.

    Parameters and facts: none to set but the limits; status, detail, warning, metadata_damage, trailing_bytes, trailing.
    """

    roles: ClassVar[frozenset[Role]] = frozenset((Role.IMAGE, Role.MASK))
    kinds: ClassVar[frozenset[Kind]] = frozenset((Kind.ENCODED,))
    measures: ClassVar[Mapping[str, Measurement]] = {
        "status": Measurement("VARCHAR", "how decoding went", range="ok, empty, truncated, damaged, not-an-image, too-large, unsupported"),
        "detail": Measurement("VARCHAR", "why the status is not ok, in the decoder's words"),
        "warning": Measurement("VARCHAR", "what the decoder remarked although the pixels are whole"),
        "metadata_damage": Measurement("VARCHAR", "what is wrong with the EXIF or ICC block"),
        "trailing_bytes": Measurement("BIGINT", "bytes behind the end of the picture", "bytes", ">= 0"),
        "trailing": Measurement("VARCHAR", "what the bytes behind the end are"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for row, picture in enumerate(pictures(column)):
            if picture is None:
                continue
            made["status"][row] = picture.status
            made["trailing_bytes"][row] = picture.trailing_bytes
            for name in ("detail", "warning", "metadata_damage", "trailing"):
                made[name][row] = getattr(picture, name) or None
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            _refuses("image-empty", "empty", "the picture has no bytes", "fetch the picture again"),
            _refuses("image-truncated", "truncated", "the picture ends too early: {detail}", "fetch the picture again"),
            _refuses("image-damaged", "damaged", "the picture's data are damaged: {detail}", "fetch the picture again"),
            _refuses("image-not-an-image", "not-an-image", "not a picture: {detail}", "fetch the picture, or leave the file out"),
            _refuses(
                "image-too-large",
                "too-large",
                "too large, a decompression bomb or a broken header: {detail}",
                "raise limits.max_pixels if it is meant so",
            ),
            RowRule(
                "image-unsupported",
                Severity.WARNING,
                "can't be checked: {detail}",
                ("status", "detail"),
                "convert it to a format that trainers read",
                where="status == 'unsupported'",
            ),
            RowRule(
                "image-extraneous-bytes",
                Severity.WARNING,
                "the pixels are whole, the file is not as it should be: {warning}",
                ("warning",),
                "write the picture anew",
                where="status == 'ok' and warning is not None",
            ),
            RowRule(
                "image-metadata-damaged",
                Severity.INFO,
                "the pixels are whole, the metadata are not: {metadata_damage}",
                ("metadata_damage",),
                "strip or rewrite the metadata",
                where="status == 'ok' and metadata_damage is not None",
                common="set",
            ),
            RowRule(
                "image-trailing-bytes",
                Severity.INFO,
                "behind the end of the picture: {trailing} ({trailing_bytes:,} B)",
                ("trailing_bytes", "trailing"),
                "cut them off if they are not meant",
                where="status == 'ok' and trailing_bytes > 0",
                common="set",
            ),
        )


def _refuses(code: str, status: str, says: str, fix: str) -> RowRule:
    return RowRule(code, Severity.ERROR, says, ("status", "detail"), fix, where=f"status == '{status}'")
