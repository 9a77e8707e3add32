"""label_kind: labels of another type than the set's, and numbers for names."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datascrub.model import Kind
from tests.validators.court import column, judged, of


def test_odd_kind(tmp_path: Path) -> None:
    """A vector among integers is an error; a word among numbers that stand as text, or a number among words, a warning."""
    values = [np.asarray(n % 5) for n in range(120)]
    values[30] = np.array([0, 1, 0])
    found = of(judged(tmp_path / "a", column("label", values)), "label-kind-odd")
    assert [(number, severity) for number, severity, _ in found] == [(30, "error")]
    numbers = [str(n % 5) for n in range(120)]
    words = ["cat", "dog", "owl"] * 40
    for name, texts, odd in (("b", numbers, "cat"), ("c", words, "3")):
        texts[7] = odd
        found = of(judged(tmp_path / name, column("label", texts, kind=Kind.TEXT)), "label-kind-odd")
        assert [(number, severity) for number, severity, _ in found] == [(7, "warning")]


def test_healthy_kinds(tmp_path: Path) -> None:
    """A class that is called by a year, floats, and sets of two kinds are nobody's fault."""
    texts = [f"class {n % 120}" for n in range(600)]
    texts[::120] = ["1984"] * 5
    assert not of(judged(tmp_path / "a", column("label", texts, kind=Kind.TEXT)), "label-kind-odd")
    assert not of(judged(tmp_path / "b", column("label", np.arange(100) % 3 + 0.0)), "label-kind-odd")
    mixed = ["cat", "7"] * 60
    assert not of(judged(tmp_path / "c", column("label", mixed, kind=Kind.TEXT)), "label-kind-odd")


def test_order_of_names(tmp_path: Path) -> None:
    """Numbers of differing length have two orders; those of one length, and words, have one."""
    names = [str(n % 12) for n in range(48)]
    found = of(judged(tmp_path / "a", column("label", names, kind=Kind.TEXT)), "label-order-ambiguous")
    assert [(number, severity) for number, severity, _ in found] == [(None, "info")]
    assert "as text 0, 1, 10, 11, as numbers 0, 1, 2, 3" in found[0][2]
    for name, healthy in (("b", [f"{n % 12:02d}" for n in range(48)]), ("c", ["cat", "dog"] * 20), ("d", [str(n % 9) for n in range(48)])):
        assert not of(judged(tmp_path / name, column("label", healthy, kind=Kind.TEXT)), "label-order-ambiguous")
