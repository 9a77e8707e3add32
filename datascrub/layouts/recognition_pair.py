"""Text-recognition pairs: image-000000001 with label-000000001, from 1 on, and num-samples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from datascrub.layouts.base import Fit, Record
from datascrub.layouts.encoded_image import no_bytes
from datascrub.layouts.numbered import Numbered
from datascrub.layouts.plain import as_text
from datascrub.media.sniff import sniff
from datascrub.model import Column, Field, Kind, Limits, Problem, Role

_KEY = re.compile(rb"(image|label)-(\d{9,})")


class RecognitionPair(Numbered):
    """A picture and the text in it, under two keys."""

    name: ClassVar[str] = "recognition-pair"
    title: ClassVar[str] = "text-recognition pairs (image-%09d, label-%09d)"
    specificity: ClassVar[int] = 6
    count_key: ClassVar[bytes] = b"num-samples"

    def fit(self, records: Sequence[Record]) -> Fit | None:
        probed = [record for record in records if record.value is not None and record.key != self.count_key]
        pictures = [record.value for record in probed if record.key.startswith(b"image-") and _KEY.fullmatch(record.key)]
        named = sum(1 for record in probed if _KEY.fullmatch(record.key))
        if not pictures or sum(sniff(value or b"").is_image for value in pictures) * 2 < len(pictures):
            return None
        return Fit(named / len(probed), (Field("image", Role.IMAGE, Kind.ENCODED), Field("label", Role.TEXT, Kind.TEXT)))

    def decode(self, samples: Sequence[Sequence[Record]], fields: Sequence[Field], limits: Limits) -> tuple[dict[str, Column], Mapping[int, Problem]]:
        problems: dict[int, Problem] = {}
        pictures: list[Any] = [None] * len(samples)
        texts: list[Any] = [None] * len(samples)
        for row, (picture, *companions) in enumerate(samples):
            text = companions[0].value if companions else None
            texts[row] = None if text is None else as_text(text)
            if picture.value is None:
                continue
            pictures[row] = picture.value or None
            if not picture.value:
                problems[row] = no_bytes()
            elif text is None:
                problems[row] = Problem("record-companion-missing", f"the picture has no text: {companion_name(self, picture.key)} is missing")
        values = {"image": pictures, "label": texts}
        return {field.name: Column(field, values[field.name], {}, limits) for field in fields if field.role is not Role.IGNORE}, problems

    def is_sample(self, key: bytes) -> bool:
        return key.startswith(b"image-") and self.number(key) is not None

    def companions(self, key: bytes) -> tuple[bytes, ...]:
        return (b"label-" + key.removeprefix(b"image-"),)

    def number(self, key: bytes) -> int | None:
        found = _KEY.fullmatch(key)
        # More zeros than nine digits need make another key: no loader asks for it.
        return int(found[2]) if found and b"%09d" % int(found[2]) == found[2] else None

    def keys_of(self, number: int) -> tuple[bytes, ...]:
        return (b"image-%09d" % number, b"label-%09d" % number)

    def declared_count(self, value: bytes) -> int | None:
        text = value.strip()
        return int(text) if text.isdigit() and len(text) < 19 else None

    def count_value(self, count: int) -> bytes:
        return b"%d" % count


def companion_name(layout: RecognitionPair, key: bytes) -> str:
    return layout.companions(key)[0].decode("ascii")
