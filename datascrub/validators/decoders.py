"""What the decoders that training uses make of a picture: does each of them read it, and do they agree?"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.errors import told
from datascrub.media.outcome import EMPTY, NOT_AN_IMAGE, TOO_LARGE
from datascrub.media.picture import Picture, pictures
from datascrub.model import DECODER, Column, Field, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator

_SIDE = 16
_NEVER_ASKED = frozenset((EMPTY, NOT_AN_IMAGE, TOO_LARGE))
"""nobody reads them, or nobody should try: image-integrity names them"""


@dataclass(frozen=True)
class Decoders(Validator):
    """Would the library that you train with read this picture, and would it see what the others see?

    What it finds
        Asked by --decoders pillow,opencv,tensorflow,torchvision alone, of those that are named; each has to be installed. image-decoder-refuses
        (error): one or more of them do not read the picture, each with what it says. A picture that is damaged by its own bytes and refused by all is
        left to image-damaged and its like. image-decoders-disagree (warning): they give pictures of different size (OpenCV turns by EXIF, the others
        don't), or of different pixels (inks taken for colours, alpha on black or on white, a gray map read as another).

    Why it breaks training
        A picture that one library reads ends the epoch of another: TensorFlow reads no TIFF, OpenCV gives back nothing instead of an error, and the
        line after it fails. Where they disagree, the model is served with other pixels than it was trained on.

    Example
        cat/17.webp  image-decoder-refuses  tensorflow: InvalidArgumentError: Unknown image file format. One of JPEG, PNG, GIF, BMP required.

    What to do
        Convert the picture to what all of them read (JPEG of three channels, upright), or train with one that does.

    Parameters and facts
        most_apart: 8, gray levels that two decoders may differ by, on average over the worst of 16 x 16 tiles; libjpeg builds differ by up to 3.
        It is off unless asked for: each decoder decodes each picture in full, some 5 to 20 ms. A decoder that crashes costs the sample that it had in
        hand (sample-kills-decoder). Facts: decoder_refused (NULL where none refuses), decoder_count, decoder_accepted, decoder_sizes (NULL where they
        agree), decoder_apart, decoder_told.
    """

    most_apart: float = 8.0

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.MASK})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ENCODED})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "decoder_refused": Measurement("VARCHAR", "the decoders that do not read the picture, with what they say; NULL where all do"),
        "decoder_count": Measurement("BIGINT", "decoders that were asked", range=">= 1"),
        "decoder_accepted": Measurement("BIGINT", "decoders that read the picture", range=">= 0"),
        "decoder_sizes": Measurement("VARCHAR", "width x height that each gives; NULL where they agree"),
        "decoder_apart": Measurement("DOUBLE", "the largest distance of two decoders in one of 16 x 16 tiles", "gray levels", "0 to 255"),
        "decoder_told": Measurement("VARCHAR", "how far the two lie apart that differ most, in words; NULL where less than two read it"),
    }

    def applies(self, field: Field) -> bool:
        return super().applies(field) and any(each.startswith(DECODER) for each in field.declared)

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        names = [each.removeprefix(DECODER) for each in column.field.declared if each.startswith(DECODER)]
        for row, picture in enumerate(pictures(column)):
            if picture is not None and picture.status not in _NEVER_ASKED and picture.width * picture.height <= column.limits.max_pixels:
                _ask(made, row, names, column.values[row], picture)
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            RowRule(
                "image-decoder-refuses",
                Severity.ERROR,
                "{decoder_refused}",
                ("decoder_accepted", "decoder_count"),
                "convert the picture to what all of them read, or train with one that does",
                where="decoder_refused is not None and (decoder_accepted > 0 or status == 'ok')",
                common="set",
            ),
            RowRule(
                "image-decoders-disagree",
                Severity.WARNING,
                "{decoder_told}",
                ("decoder_sizes", "decoder_apart"),
                "convert the picture: upright, without alpha, in three channels of 8 bits",
                where="decoder_apart > most_apart or decoder_sizes is not None",
                common="set",
            ),
        )


def _ask(made: dict[str, np.ndarray], row: int, names: Sequence[str], value: bytes, picture: Picture) -> None:
    refused, seen = [], {}
    for name in names:
        try:
            pixels = DECODE[name](value)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  foreign bytes met a foreign decoder: whatever it raises is a refusal
            refused.append(f"{name}: {told(error).removeprefix('ValueError: ')}")
        else:
            seen[name] = pixels
    made["decoder_refused"][row] = "; ".join(refused) or None
    made["decoder_count"][row], made["decoder_accepted"][row] = len(names), len(seen)
    if len(seen) < 2:
        return
    sizes = {name: f"{pixels.shape[1]} x {pixels.shape[0]}" for name, pixels in seen.items()}
    if len(set(sizes.values())) > 1:
        made["decoder_sizes"][row] = ", ".join(f"{name} {size}" for name, size in sizes.items())
        made["decoder_told"][row] = f"not of one size: {made['decoder_sizes'][row]}"
        return
    tiles = {name: _tiles(pixels) for name, pixels in seen.items()}
    pairs = [(float(np.abs(tiles[a] - tiles[b]).max()), f"{a} and {b}") for at, a in enumerate(tiles) for b in list(tiles)[at + 1 :]]
    apart, pair = max(pairs, key=lambda each: each[0])
    made["decoder_apart"][row], made["decoder_told"][row] = apart, f"{pair} differ by up to {apart:.0f} gray levels"


def _tiles(pixels: np.ndarray) -> np.ndarray:
    """(16, 16, 3) means of an (H, W, 3) picture: what is left of it whatever the decoder's rounding."""
    rows, columns = (np.linspace(0, side, min(_SIDE, side) + 1).astype(int)[:-1] for side in pixels.shape[:2])
    sums = np.add.reduceat(np.add.reduceat(pixels.astype(np.float64), rows, axis=0), columns, axis=1)
    counts = np.add.reduceat(np.add.reduceat(np.ones(pixels.shape[:2]), rows, axis=0), columns, axis=1)
    made: np.ndarray = sums / counts[..., np.newaxis]
    return made


def _pillow(value: bytes) -> np.ndarray:
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Image.open(io.BytesIO(value)) as image:
            return np.asarray(image.convert("RGB"))


def _opencv(value: bytes) -> np.ndarray:
    import cv2

    found = cv2.imdecode(np.frombuffer(value, np.uint8), cv2.IMREAD_COLOR)
    if found is None:
        raise ValueError("gives nothing back")
    pixels: np.ndarray = found[..., ::-1]
    return pixels


def _tensorflow(value: bytes) -> np.ndarray:
    import tensorflow as tf

    try:
        pixels: np.ndarray = tf.io.decode_image(value, channels=3, expand_animations=False).numpy()
    except tf.errors.OpError as error:
        raise ValueError(error.message.partition(" [Op:")[0].partition("}} ")[2] or error.message) from None
    return pixels


def _torchvision(value: bytes) -> np.ndarray:
    import torch
    from torchvision.io import ImageReadMode, decode_image

    found = decode_image(torch.frombuffer(bytearray(value), dtype=torch.uint8), mode=ImageReadMode.RGB)
    pixels: np.ndarray = found.permute(1, 2, 0).numpy()
    return pixels


DECODE: Mapping[str, Callable[[bytes], np.ndarray]] = {
    "pillow": _pillow, "opencv": _opencv, "tensorflow": _tensorflow, "torchvision": _torchvision,
}  # fmt: skip
"""bytes -> (H, W, 3) uint8, as a training that does nothing special would decode them; each raises what it raises"""
