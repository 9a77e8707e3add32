"""Damaged copies of a set in every container: a part of what scripts/fuzz does in thousands."""

from pathlib import Path

from tests.spine.fuzzing import fuzz, told

COUNT = 200


def test_damage_of_any_kind_is_survived(fixtures: Path, tmp_path: Path) -> None:
    """No exception, no hang, and no record that nobody accounts for, whatever bytes are flipped, cut, zeroed, spliced or inserted."""
    sets = sorted(entry for entry in fixtures.iterdir() if entry.suffix != ".json")
    kinds, faults = fuzz(sets, tmp_path, COUNT, seed=77)
    assert faults == []
    assert kinds.total() == COUNT
    assert kinds["measured"] > COUNT / 2, told(kinds)
