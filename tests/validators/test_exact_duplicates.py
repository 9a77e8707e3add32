"""Same bytes, and same bytes under other labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datascrub.model import Column, Kind, Role
from datascrub.validators import ExactDuplicates
from tests.validators.court import codes, column, judged, of

RANDOM = np.random.default_rng(6)


def data(*copies: tuple[int, int], count: int = 20) -> Column:
    """A block of different arrays; (to, from) are equal."""
    block = RANDOM.normal(size=(count, 3, 4)).astype(np.float32)
    for to, source in copies:
        block[to] = block[source]
    return column("data", block, Role.ARRAY)


def hashes(values: object, kind: Kind = Kind.ARRAY) -> list[str | None]:
    return list(ExactDuplicates().measure(column("image", values, kind=kind))["hash"])


def test_hash_is_of_content_shape_and_type() -> None:
    """Equal numbers hash alike in a block, in a list and in a transposed view; other shapes and types don't; tiny and constant arrays have none."""
    block = RANDOM.normal(size=(2, 4, 6)).astype(np.float32)
    first = hashes(block)
    assert first == hashes([block[0].copy(), block[1].copy()]) == hashes(np.ascontiguousarray(block.transpose(0, 2, 1)).transpose(0, 2, 1))
    assert len({*first, *hashes(block.reshape(2, 6, 4)), *hashes(block.view(np.int32))}) == 6
    assert hashes([np.arange(3, dtype=np.float32), np.zeros(50), None]) == [None] * 3
    assert hashes([b"abc", b"", None, b"abc"], Kind.ENCODED)[1:3] == [None, None]
    assert len(set(hashes([b"abc", b"abc", b"abd"], Kind.ENCODED))) == 2


def test_every_copy_but_the_first(tmp_path: Path) -> None:
    """Of three equal samples two are named, each with the key of the first."""
    result = judged(tmp_path, data((5, 2), (9, 2)))
    says = "the same bytes as #2; 3 samples hold them"
    assert of(result, "exact-duplicate") == [(5, "warning", says), (9, "warning", says)]
    assert codes(result) == {(5, "exact-duplicate"), (9, "exact-duplicate")}


def test_conflicting_labels(tmp_path: Path) -> None:
    """Equal bytes under different labels are errors in a classification, all of them named; equal labels are none; in a regression warnings."""
    values, labels = data((5, 2), (7, 3)), np.arange(20) % 4
    labels[7] = labels[3]
    result = judged(tmp_path / "a", values, column("label", labels))
    assert [(number, severity) for number, severity, _ in of(result, "duplicate-label-conflict")] == [(2, "error"), (5, "error")]
    result = judged(tmp_path / "b", values, column("label", labels * 0.5), task="regression")
    assert {severity for _, severity, _ in of(result, "duplicate-label-conflict")} == {"warning"}
    assert of(judged(tmp_path / "c", values), "duplicate-label-conflict") == []


def test_ignored_and_missing_labels_do_not_conflict(tmp_path: Path) -> None:
    """A copy that is ignored, or has no label, contradicts nobody."""
    labels = [np.array(row % 2) for row in range(20)]
    labels[2], labels[5], labels[7] = np.array(1), np.array(-1), None  # type: ignore[call-overload]  # a missing label
    result = judged(tmp_path, data((5, 2), (7, 2)), column("label", labels), ignore_labels=(-1,))
    assert of(result, "duplicate-label-conflict") == []


def test_text_labels_conflict(tmp_path: Path) -> None:
    """Names of classes conflict as numbers do."""
    result = judged(tmp_path, data((1, 0)), column("label", ["cat", "dog"] * 10, kind=Kind.TEXT))
    assert {number for number, _, _ in of(result, "duplicate-label-conflict")} == {0, 1}


def test_most_of_the_set_is_said_once(tmp_path: Path) -> None:
    """A set of copies is one finding, and one for the conflicts; nothing goes to quarantine."""
    values = data(*((row, row % 4) for row in range(4, 20)))
    once = {(None, "duplicates-in-most-samples"), (None, "conflicts-in-most-samples")}
    assert codes(judged(tmp_path / "a", values, column("label", np.arange(20) % 3))) == once
    few = data((2, 0), (3, 0), (5, 0), count=6)
    assert codes(judged(tmp_path / "b", few, column("label", np.arange(6) % 2))) == once


def test_blank_arrays_are_no_duplicates(tmp_path: Path) -> None:
    """All-zero rows are array-constant, not copies of each other."""
    block = RANDOM.normal(size=(20, 8))
    block[3:6] = 0
    assert codes(judged(tmp_path, column("data", block, Role.ARRAY))) == {(row, "array-constant") for row in (3, 4, 5)}


def test_a_sample_is_all_of_its_fields(tmp_path: Path) -> None:
    """One picture under two questions, one mask under many texts, one camera under many pictures: none is a copy, and no label conflicts."""
    labels = column("label", np.arange(20) % 2)
    questions = column("question", [f"what is it, number {row}?" for row in range(20)], Role.TEXT, Kind.TEXT)
    assert codes(judged(tmp_path / "a", data((5, 2), (8, 3)), questions, labels)) == set()
    shared = column("camera", np.tile(np.linspace(0, 1, 8), (20, 1)), Role.ARRAY)
    found = codes(judged(tmp_path / "b", shared, data(), labels))
    assert not {code for _, code in found} & {"exact-duplicate", "duplicate-label-conflict", "duplicates-in-most-samples"}
    same = column("question", ["what is it?"] * 20, Role.TEXT, Kind.TEXT)
    assert (5, "duplicate-label-conflict") in codes(judged(tmp_path / "c", data((5, 2)), same, labels))
