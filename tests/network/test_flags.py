"""The flags and the configuration of the network, from the command line to the findings."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from datascrub import scan
from datascrub.api import Run
from datascrub.cli import main
from datascrub.config import from_table, load
from datascrub.errors import UsageError
from datascrub.network.choose import choose_backend, settings_of

FUNCTION = '''"""Preprocessing of my own."""

import numpy as np


def root(values):
    return np.sqrt(values)
'''


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Twenty rows from 1 to 2; one holds -1, one 1e12."""
    data = np.random.default_rng(0).uniform(1, 2, (20, 8)).astype(np.float32)
    data[4, 3], data[11, 0] = -1, 1e12
    with h5py.File(tmp_path / "set.h5", "w") as file:
        file["data"], file["label"] = data, np.arange(20) % 2
    return tmp_path / "set.h5"


def found(run: Path) -> set[tuple[str | None, str]]:
    return {(finding.key, finding.code) for finding in Run.open(run).findings() if finding.code.startswith(("network-", "preprocess-"))}


def test_deep(source: Path, tmp_path: Path) -> None:
    """--backward and several precisions look deeper; the same scan without them measures anew and says less."""
    deep = ["--precision", "fp32,fp16,bf16", "--backward", "--device", "cpu"]
    command = ["scan", str(source), "--out", str(tmp_path / "run"), "--backend", "numpy", "--workers", "1"]
    assert main([*command, *deep]) == 1
    assert found(tmp_path / "run") == {("set.h5#11", "network-overflows-half"), ("set.h5#11", "network-gradient-not-finite")}
    assert Run.open(tmp_path / "run").facts.filter("data.network_compared AND data.network_peak IS NOT NULL").count("*").fetchall()[0][0] == 20
    main(command)
    assert found(tmp_path / "run") == set()


def test_a_function_of_ones_own(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--preprocess names a function; what it makes of a sample is judged; a function written anew is measured anew, one that is missing refused."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_roots.py").write_text(FUNCTION)
    command = ["scan", str(source), "--out", str(tmp_path / "run"), "--backend", "numpy", "--workers", "1", "--preprocess"]
    main([*command, "own_roots:root"])
    assert found(tmp_path / "run") == {("set.h5#4", "preprocess-not-finite")}
    (tmp_path / "own_roots.py").write_text(FUNCTION.replace("np.sqrt(values)", "np.abs(values[:8]) ** 0.5"))
    main([*command, "own_roots:root"])
    assert found(tmp_path / "run") == set()
    assert main([*command, "own_roots:nothing"]) == 2


def test_preprocess_in_a_file(source: Path, tmp_path: Path) -> None:
    """[preprocess] of the configuration file is what the network sees, and part of the plan."""
    (tmp_path / "its.toml").write_text('[preprocess]\nmean = "sample"\nstd = "sample"\ndtype = "float16"\n[network]\nprecisions = ["float16"]\n')
    run = scan(source, out=tmp_path / "run", config=load(tmp_path / "its.toml"), workers=1, backend="numpy")
    assert found(run.path) == set()
    assert run.facts.filter("data.preprocess_status = 'ok'").count("*").fetchall()[0][0] == 20


@pytest.mark.parametrize("backend", ["numpy", "torch", "tensorflow"])
def test_a_device_that_is_not_there(backend: str, source: Path, tmp_path: Path) -> None:
    """A device that the backend does not have is a fault of the request, said before anything is measured."""
    if backend != "numpy":
        pytest.importorskip(backend)
    with pytest.raises(UsageError, match="cuda:77"):
        scan(source, out=tmp_path / "run", config=from_table({"network": {"device": "cuda:77"}}), backend=backend)
    assert not (tmp_path / "run").exists()


def test_settings() -> None:
    """A configuration that says nothing of the network fixes nothing; a device asks for a framework, the CPU for none."""
    assert settings_of(from_table({})) == {}
    assert settings_of(from_table({"network": {"device": "cpu"}, "preprocess": {"scale": 2}})) == {
        "device": "cpu",
        "preprocess": {"mode": "RGB", "scale": 2.0, "dtype": "float32"},
    }
    assert choose_backend("auto", "cpu") == "numpy"
