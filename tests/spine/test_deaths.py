"""A worker that dies costs one sample: it is named, and all others are measured."""

from pathlib import Path

import pytest

import datascrub
from datascrub.config import from_table
from tests.spine import faulty_validator as faults
from tests.spine.conftest import MakeSet

LOAD = [str(Path(faults.__file__))]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("row", [0, 61, 99, 299])
@pytest.mark.parametrize("fault", [faults.SEGV, faults.MEMORY])
def test_guilty_sample_is_named_alone(make_set: MakeSet, tmp_path: Path, workers: int, row: int, fault: float) -> None:
    """Whatever kills a worker at the first, a middle or the last sample: exactly that sample is an error, the rest is measured."""
    run = datascrub.scan(make_set(values={row: fault}), out=tmp_path / "run", workers=workers, load=LOAD)
    errors = [f for f in run.findings() if f.severity == "error"]
    assert [(f.key, f.code) for f in errors] == [(f"set.h5#{row}", "sample-kills-decoder")]
    assert run.summary["account"]["records"] == 300
    assert run.facts.filter("data.first_value IS NOT NULL").count("*").fetchall() == [(299,)]
    assert run.exit_code == 1


def test_many_deaths_in_one_shard(make_set: MakeSet, tmp_path: Path) -> None:
    """Samples that abort, leave or segfault side by side are each named."""
    values = {10: faults.ABRT, 11: faults.LEAVE, 12: faults.SEGV, 40: faults.ABRT}
    run = datascrub.scan(make_set(values=values), out=tmp_path / "run", load=LOAD)
    assert {f.key for f in run.findings("sample-kills-decoder")} == {f"set.h5#{row}" for row in values}
    assert run.summary["account"]["records"] == 300


def test_hanging_sample_is_ended(make_set: MakeSet, tmp_path: Path) -> None:
    """A sample over the time limit is ended and named; the rest is measured."""
    config = from_table({"limits": {"sample_s": 0.5}})
    run = datascrub.scan(make_set(count=8, values={3: faults.HANG}, chunk=8), out=tmp_path / "run", load=LOAD, config=config)
    assert [(f.key, f.code) for f in run.findings() if f.severity == "error"] == [("set.h5#3", "sample-times-out")]
    assert run.summary["account"]["records"] == 8
