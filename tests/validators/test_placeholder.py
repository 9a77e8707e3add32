"""placeholder: one picture under many keys."""

from __future__ import annotations

from pathlib import Path

import xxhash

from datascrub.config import RuleConfig
from tests.media.drawn import jpeg, png
from tests.validators.picture_court import judged, of

OURS = ("placeholder-picture", "known-placeholder", "failures-in-a-row")


def test_one_picture_in_three_classes(tmp_path: Path) -> None:
    """One picture under three keys of different classes is one error of the set, even in other bytes; all of its samples are errors."""
    files = {**{str(seed): png(seed) for seed in range(9)}, "x": png(50), "y": png(50), "z": png(50, compress_level=1)}
    found = judged(tmp_path, files, ["cat", "dog", "owl"] * 4)
    assert of(found, *OURS) == [(None, "placeholder-picture", "error")]
    assert next(f for f in found if f.code == "placeholder-picture").evidence["keys"] == ["x", "y", "z"]
    assert {key for key, _, severity in of(found) if severity == "error" and key} == {"x", "y", "z"}


def test_copies_in_one_class_and_pairs_are_none(tmp_path: Path) -> None:
    """Three copies in one class, and two in two classes, are duplicates, not placeholders; nor is anything where labels are unknown."""
    files = {**{str(seed): png(seed) for seed in range(9)}, "x": png(50), "y": png(50), "z": png(50)}
    assert of(judged(tmp_path / "a", files, ["cat", "dog", "owl"] * 3 + ["cat"] * 3), *OURS) == []
    assert of(judged(tmp_path / "b", dict(list(files.items())[:-1]), ["cat", "dog"] * 5 + ["cat"]), *OURS) == []
    assert of(judged(tmp_path / "c", files), *OURS) == []


def test_a_known_placeholder(tmp_path: Path) -> None:
    """A picture whose hash is on the user's list is an error; with the list left empty nothing is."""
    files = {str(seed): jpeg(seed) for seed in range(4)}
    known = RuleConfig(thresholds={"placeholders": ["00", xxhash.xxh3_128_hexdigest(files["2"])]})
    assert of(judged(tmp_path / "a", files, rules={"known-placeholder": known}), *OURS) == [("2", "known-placeholder", "error")]
    assert of(judged(tmp_path / "b", files), *OURS) == []


def test_failures_in_a_row(tmp_path: Path) -> None:
    """A dozen pages in a row are named as a range; the same ones spread over the set are not."""
    page = b"<!DOCTYPE html><html><body>404</body></html>"
    row = {f"{number:02}": page if 10 <= number < 22 else jpeg(number) for number in range(30)}
    found = [f for f in judged(tmp_path / "a", row) if f.code == "failures-in-a-row"]
    assert [(f.evidence["first_key"], f.evidence["last_key"], f.evidence["samples"]) for f in found] == [("10", "21", 12)]
    spread = {f"{number:02}": page if number % 2 else jpeg(number) for number in range(30)}
    assert of(judged(tmp_path / "b", spread), *OURS) == []
