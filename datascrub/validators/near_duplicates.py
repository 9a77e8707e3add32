"""Pictures that look the same: the same pixels in other bytes, and copies that were encoded, scaled or retouched anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xxhash

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.near_pairs import ALIKE
from datascrub.validators.small_pixels import SIDE, shows_its_pixels, small_pixels, whole_pictures

_LEAST_SIDE = 64
"""pixels of the shorter side below which pictures of one kind (digits, characters) look alike without being copies"""
_LEAST_DEVIATION = 4.0
"""gray levels: what varies less is blank, and looks like everything that is"""

# Few pixels stand twice: their encodings alone are told apart, since sets of texts for every picture take more memory than all other questions.
_PIXELS = """
    WITH met AS (
        SELECT {field}.pixel_hash AS pixel_hash FROM facts WHERE {field}.pixel_hash IS NOT NULL AND {field}.hash IS NOT NULL
        GROUP BY ALL HAVING count(*) > 1
    ), grouped AS (
        SELECT {field}.pixel_hash AS pixel_hash, min(number) AS first, arg_min(key, number) AS first_key, count(DISTINCT {field}.hash) AS encodings
        FROM facts WHERE {field}.pixel_hash IN (SELECT pixel_hash FROM met) AND {field}.hash IS NOT NULL
        GROUP BY ALL HAVING count(DISTINCT {field}.hash) > 1
    ), encoding AS (
        SELECT {field}.hash AS hash, {field}.pixel_hash AS pixel_hash, min(number) AS number FROM facts
        WHERE {field}.pixel_hash IN (SELECT pixel_hash FROM grouped) GROUP BY ALL
    )"""

_PIXEL_DUPLICATES = f"""{_PIXELS}
    SELECT number, first_key, encodings FROM encoding JOIN grouped USING (pixel_hash) WHERE number > first ORDER BY number"""

_PIXEL_CONFLICTS = f"""{_PIXELS}, labelled AS (
        SELECT number, {{field}}.hash AS hash, {{field}}.pixel_hash AS pixel_hash,
            coalesce({{label}}.text, {{label}}.value::VARCHAR, {{label}}.number::VARCHAR) AS label
        FROM facts WHERE {{field}}.pixel_hash IN (SELECT pixel_hash FROM grouped) AND {{is_alone}} AND $task <> 'multilabel'
        AND ({{label}}.value IS NULL OR NOT list_contains(CAST($ignore_labels AS BIGINT[]), {{label}}.value))
    ), told AS (
        SELECT pixel_hash, array_to_string(list(DISTINCT label ORDER BY label)[1:10], ', ') AS labels FROM labelled WHERE label IS NOT NULL
        GROUP BY ALL HAVING min(label) <> max(label)
    ), said AS (
        SELECT hash FROM labelled WHERE label IS NOT NULL GROUP BY ALL HAVING min(label) <> max(label)
    )
    SELECT number, label, labels, first_key, CASE WHEN $task = 'classification' THEN 'error' ELSE 'warning' END AS severity
    FROM labelled JOIN told USING (pixel_hash) JOIN grouped USING (pixel_hash)
    WHERE label IS NOT NULL AND hash NOT IN (SELECT hash FROM said) ORDER BY number"""

_NEAR = f"""{ALIKE}, nearest AS (
        SELECT other AS number, min(number) AS first, arg_min(bits, number) AS bits, arg_min(similarity, number) AS similarity FROM alike GROUP BY ALL
    ), once AS (
        SELECT n.number, n.first, n.bits, n.similarity, coalesce(f.first, n.first) AS root
        FROM nearest AS n LEFT JOIN nearest AS f ON f.number = n.first
    ), twice AS (
        SELECT o.number, o.first, o.bits, o.similarity, coalesce(f.root, o.root) AS root FROM once AS o LEFT JOIN once AS f ON f.number = o.root
    )"""

_NEAR_DUPLICATES = f"""{_NEAR}, sizes AS (SELECT root, count(*) + 1 AS copies FROM twice GROUP BY root)
    SELECT twice.number, facts.key AS first_key, bits, round(similarity, 4)::DOUBLE AS similarity, copies
    FROM twice JOIN sizes USING (root) JOIN facts ON facts.number = twice.first ORDER BY twice.number"""


@dataclass(frozen=True)
class NearDuplicates(Validator):
    """The same picture more than once, in other bytes.

    What it finds
        pixel-duplicate (warning): the same pixels, encoded anew: another compression level, another comment, another container. Compared are size and
        gray pixels at reduced size; not pictures of more than 8 bits, of one gray level, or under alpha that varies.
        pixel-duplicate-label-conflict (error in a classification, else a warning): such copies under different labels.
        near-duplicate (warning): pictures that look alike: saved again at another quality, scaled, brightened, slightly cropped. Groups are named,
        not pairs: every copy but the first, with the earliest one that it looks like. Exact copies and equal pixels take part once, so that nothing
        is said twice.

    Why it breaks training
        As exact copies do: a copy weighs double, and one in the test split makes the score a lie. A hash of the bytes does not see them.

    Example
        val/x1.png  pixel-duplicate  the same pixels as train/a3.png in other bytes; 2 encodings of them are in the set

    What to do
        Keep the largest or least compressed one of each group; keep a group in one split.

    Parameters and facts
        near_bits, of 63, by which the perceptual hashes of copies may differ; near_similarity, the least correlation of their 8 x 8 gray means. Pairs
        are sought in four bands of 16 bits, one of which must be equal; in a band value that more than 64 pictures share, among the 16 that follow in
        the order of the hash. Copies up to 3 bits apart are always met where bands are not so full. Pictures with a side below 64 pixels, and blank
        ones, have no perceptual hash. Mirrored and turned copies, and crops by more than some 2 % of a side, are not found.
        How often it fires on healthy sets: MNIST's digits never (too small; hashed all the same, 3 pairs in 8 million), the
        116 drawings, the 364 blood cell photos of the corpus never. Facts: pixel_hash, perceptual_hash, thumbnail.
    """

    near_bits: int = 8
    near_similarity: float = 0.997

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ENCODED})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "pixel_hash": Measurement(
            "VARCHAR",
            "xxh3-128 of the gray pixels at reduced size, seeded with size and frames; NULL where not compared",
        ),
        "perceptual_hash": Measurement("BIGINT", "63 bits: which of the lowest 8 x 8 cosine frequencies are stronger than the median"),
        "thumbnail": Measurement("VARCHAR", "8 x 8 gray means, row by row, two hexadecimal digits each", range="00 to ff"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        small = small_pixels(column)
        if not len(small.rows):
            return made
        deviation = small.gray.std((1, 2))
        cells = small.gray.reshape(-1, 8, 4, 8, 4).mean((2, 4)).round().astype(np.uint8).reshape(-1, 64)
        hashes = perceptual_hashes(small.gray)
        for at, (row, picture, pixels) in enumerate(whole_pictures(column)):
            if np.count_nonzero(small.histogram[at]) > 1 and picture.bits <= 8 and shows_its_pixels(picture):
                seed = xxhash.xxh3_64_intdigest(f"{picture.width} {picture.height} {picture.frames}".encode())
                made["pixel_hash"][row] = xxhash.xxh3_128_hexdigest(np.ascontiguousarray(pixels).data, seed)
            if deviation[at] >= _LEAST_DEVIATION and min(picture.width, picture.height) >= _LEAST_SIDE:
                made["perceptual_hash"][row] = hashes[at]
                made["thumbnail"][row] = cells[at].tobytes().hex()
        return made

    def rules(self) -> Sequence[Rule]:
        keep = "keep the best copy of each, and all copies in one split"
        return (
            SetRule(
                "pixel-duplicate",
                Severity.WARNING,
                "the same pixels as {first_key} in other bytes; {encodings:,} encodings of them are in the set",
                fix=keep,
                sql=_PIXEL_DUPLICATES,
                scope="sample",
                needs=("pixel_hash", "hash"),
                minimum=2,
            ),
            SetRule(
                "pixel-duplicate-label-conflict",
                Severity.ERROR,
                "labelled {label}; the same pixels in other bytes stand under other labels ({labels}), first in {first_key}",
                fix="look at the sample, and keep the copy whose label is right",
                sql=_PIXEL_CONFLICTS,
                scope="sample",
                needs=("pixel_hash", "hash"),
                minimum=2,
            ),
            SetRule(
                "near-duplicate",
                Severity.WARNING,
                "looks like {first_key} ({bits} of 63 bits differ, similarity {similarity:.4f}); {copies:,} such pictures",
                fix=keep,
                sql=_NEAR_DUPLICATES,
                scope="sample",
                needs=("perceptual_hash", "thumbnail", "pixel_hash"),
                minimum=2,
            ),
        )


def perceptual_hashes(gray: np.ndarray) -> np.ndarray:
    """(n,) int64 of (n, 32, 32) float32: bit set where a cosine coefficient exceeds the median of the 63 lowest but the mean.

    The bits are dealt to the four 16-bit bands in the order of frequency, so that each band holds steady and unsteady ones. Bit 63 is never set.
    """
    positions = np.arange(SIDE)
    waves = np.array([np.cos(np.pi * (2 * positions + 1) * frequency / (2 * SIDE)) for frequency in range(8)], np.float32)
    power = np.matmul(np.matmul(waves, gray), waves.T).reshape(-1, 64)  # a product per picture: its bits must not depend on its batch
    order = sorted(range(1, 64), key=lambda at: (at // 8 + at % 8, at))
    power = power[:, order]
    is_set = power > np.median(power, axis=1, keepdims=True)
    places = np.array([16 * (at % 4) + at // 4 for at in range(63)])
    hashes: np.ndarray = (is_set.astype(np.int64) << places).sum(axis=1)
    return hashes
