"""Known-bad inputs, made on the spot and put before the real validators: a decoder that changed and misses one gives no clean bill."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datascrub.layouts import Record
from datascrub.layouts.datum import Datum
from datascrub.model import Field, Kind, Limits, Role, Severity
from datascrub.validators.dummy_network import DummyNetwork
from datascrub.validators.finite import Finite
from datascrub.validators.image_integrity import ImageIntegrity


@dataclass(frozen=True)
class Trial:
    """An input and what has to be said of it: a code of an error, None for a healthy one."""

    name: str
    expected: str | None
    found: frozenset[str]

    @property
    def is_passed(self) -> bool:
        return self.expected in self.found if self.expected else not self.found


def trials() -> list[Trial]:
    """All known inputs, tried; meant for a child process, since a decoder may die of one."""
    made = [_image(name, expected, value) for name, (expected, value) in _images().items()]
    for name, expected, value in (
        ("a healthy array", None, 0.5),
        ("an array with a NaN", "values-not-finite", np.nan),
        ("an array with an infinity", "values-not-finite", np.inf),
    ):
        block = np.linspace(-1, 1, 48, dtype=np.float32).reshape(3, 4, 4)
        block[1, 2, 3] = value
        made.append(Trial(name, expected, _errors(Finite(), block)))
    lost = np.full((3, 4, 4), np.nan, np.float32)
    made.append(Trial("a loss that is not finite", "network-loss-not-finite", _errors(DummyNetwork(), lost)))
    return [*made, *_data()]


def misses() -> list[str]:
    """One sentence for each known input that is not judged as it has to be."""
    return [
        f"the self-test failed: {trial.name} is {'not seen as ' + trial.expected if trial.expected else 'accused'}"
        for trial in trials()
        if not trial.is_passed
    ]


def _errors(validator: ImageIntegrity | Finite | DummyNetwork, value: object) -> frozenset[str]:
    return frozenset(finding.code for finding in validator.check(value) if finding.severity is Severity.ERROR)


def _image(name: str, expected: str | None, value: bytes) -> Trial:
    return Trial(name, expected, _errors(ImageIntegrity(), value))


def _images() -> Mapping[str, tuple[str | None, bytes]]:
    from PIL import Image

    patches = np.random.default_rng(0).integers(0, 255, (8, 8, 3), dtype=np.uint8)
    picture = Image.fromarray(np.kron(patches, np.ones((8, 8, 1), np.uint8)).astype(np.uint8))
    jpeg, png = _encoded(picture, "JPEG"), _encoded(picture, "PNG")
    hole = bytearray(jpeg)
    middle = len(jpeg) * 2 // 3  # well behind the headers
    hole[middle : middle + 64] = bytes(64)
    flipped = bytearray(png)
    flipped[png.index(b"IDAT") + 20] ^= 1
    return {
        "a healthy JPEG": (None, jpeg),
        "a JPEG cut in half": ("image-truncated", jpeg[: len(jpeg) // 2]),
        "a JPEG with a hole": ("image-damaged", bytes(hole)),
        "a healthy PNG": (None, png),
        "a PNG cut in half": ("image-truncated", png[: len(png) // 2]),
        "a PNG whose CRC does not fit": ("image-damaged", bytes(flipped)),
        "an HTML page under an image's name": ("image-not-an-image", b"<!DOCTYPE html><html><body>404 Not Found</body></html>"),
        "an image of no bytes": ("image-empty", b""),
    }


def _encoded(picture: object, form: str) -> bytes:
    held = io.BytesIO()
    picture.save(held, form)  # type: ignore[attr-defined]  # an image of Pillow, which is imported late
    return held.getvalue()


def _data() -> list[Trial]:
    """A Datum of 1 x 2 x 2 bytes, written by hand, and damaged copies of it."""
    healthy = b"\x08\x01\x10\x02\x18\x02\x22\x04\x01\x02\x03\x04\x28\x05"  # channels, height, width, data, label
    fields = (Field("data", Role.IMAGE, Kind.ARRAY, "uint8", (1, 2, 2)), Field("label", Role.LABEL, Kind.ARRAY, "int32", ()))
    variants = (
        ("a healthy Datum", None, healthy),
        ("a Datum cut short", "record-unparsable", healthy[:10]),
        ("a Datum of too few bytes", "record-size-mismatch", healthy.replace(b"\x22\x04\x01\x02\x03\x04", b"\x22\x03\x01\x02\x03")),
    )
    _, problems = Datum().decode([(Record(b"", value),) for _, _, value in variants], fields, Limits())
    return [
        Trial(name, expected, frozenset({problems[place].code} if place in problems else ())) for place, (name, expected, _) in enumerate(variants)
    ]
