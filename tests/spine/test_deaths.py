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
@pytest.mark.parametrize("fault", [faults.SEGV, faults.ABRT, faults.MEMORY, faults.RAISE])
def test_guilty_sample_is_named_alone(make_set: MakeSet, tmp_path: Path, workers: int, row: int, fault: float) -> None:
    """Whatever ends a worker, or raises, at the first, a middle or the last sample: exactly that sample is an error, the rest is measured."""
    run = datascrub.scan(make_set(values={row: fault}), out=tmp_path / "run", workers=workers, load=LOAD)
    errors = [f for f in run.findings() if f.severity == "error"]
    assert [(f.key, f.code) for f in errors] == [(f"set.h5#{row}", "sample-not-checked" if fault == faults.RAISE else "sample-kills-decoder")]
    assert run.summary["account"]["records"] == 300
    assert run.summary["incomplete_because"] == []
    assert run.facts.filter("data.first_value IS NOT NULL").count("*").fetchall() == [(299,)]
    assert run.exit_code == 1


def test_many_deaths_in_one_shard(make_set: MakeSet, tmp_path: Path) -> None:
    """Samples that abort, leave or segfault side by side are each named."""
    values = {10: faults.ABRT, 11: faults.LEAVE, 12: faults.SEGV, 40: faults.ABRT}
    run = datascrub.scan(make_set(values=values), out=tmp_path / "run", load=LOAD)
    assert {f.key for f in run.findings("sample-kills-decoder")} == {f"set.h5#{row}" for row in values}
    assert run.summary["account"]["records"] == 300


@pytest.mark.parametrize(("row", "workers"), [(0, 1), (3, 2), (7, 2)])
def test_hanging_sample_is_ended(make_set: MakeSet, tmp_path: Path, row: int, workers: int) -> None:
    """A sample over the time limit is ended and named; the rest is measured."""
    config = from_table({"limits": {"sample_s": 0.2}})
    source = make_set(count=8, values={row: faults.HANG}, chunk=8)
    run = datascrub.scan(source, out=tmp_path / "run", load=LOAD, config=config, workers=workers, batch_size=2)
    assert [(f.key, f.code) for f in run.findings() if f.severity == "error"] == [(f"set.h5#{row}", "sample-times-out")]
    assert run.summary["account"]["records"] == 8


def test_sample_that_fails_in_company_only(make_set: MakeSet, tmp_path: Path) -> None:
    """A sample that kills a batch and not itself alone is no error: the batch is measured one by one."""
    run = datascrub.scan(make_set(values={5: faults.COMPANY}), out=tmp_path / "run", load=LOAD)
    assert run.summary["account"]["records"] == 300
    assert [f.code for f in run.findings() if f.code.startswith("sample-")] == []


def test_validator_that_fails_everywhere_is_no_verdict(make_set: MakeSet, tmp_path: Path) -> None:
    """Where most samples could not be checked, the run is incomplete, and says which validator fails and how, without address or path."""
    run = datascrub.scan(make_set(count=20, values=dict.fromkeys(range(20), faults.RAISE), chunk=10), out=tmp_path / "run", load=LOAD)
    assert run.exit_code == 4
    (why,) = run.summary["incomplete_because"]
    assert why.startswith("20 of 20 samples could not be checked: faulty failed on it: ValueError: no such number as 1000006.0")
    assert "/some/where" not in why
    assert "at <object object at 0x…>" in why
