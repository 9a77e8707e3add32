"""The README tells the truth: what it lists is what the code has."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from datascrub import registry
from datascrub.config import DataConfig, NetworkConfig, PreprocessConfig
from datascrub.model import Limits


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text("utf-8")


def test_generated_documents_are_fresh(root: Path) -> None:
    """The table of rules and docs/rules.md are what scripts/make_docs.py writes today."""
    done = subprocess.run([sys.executable, root / "scripts" / "make_docs.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_first_screen(readme: str) -> None:
    """The two commands that need nothing but Python and the clone stand in the first forty lines."""
    first = "\n".join(readme.splitlines()[:40])
    assert "scripts/demo" in first
    assert "scripts/test" in first


def test_every_container_is_named(readme: str) -> None:
    """Each container that a reader knows has a row of its own."""
    assert [kind.title for kind in registry.readers() if f"| {kind.title} |" not in readme] == []


def test_every_configuration_key_is_named(readme: str) -> None:
    """Each key of [data], [limits], [network] and [preprocess] is explained."""
    keys = [field.name for table in (DataConfig, Limits, NetworkConfig, PreprocessConfig) for field in dataclasses.fields(table)]
    assert [key for key in keys if f"| `{key}` |" not in readme] == []


def test_commands_and_flags_exist(readme: str, root: Path) -> None:
    """Every command line in the README is one that the program understands: its command and all its flags are in --help."""
    environment = os.environ | {"PYTHONPATH": str(root)}
    for line in re.findall(r"^ {4}datascrub ([^#\n]+)", readme, re.MULTILINE):
        command, *words = line.split()
        done = subprocess.run([sys.executable, "-m", "datascrub", command, "--help"], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, line
        known = set(re.findall(r"(?<!\w)--?[a-z0-9][a-z-]*", done.stdout))
        assert [word for word in words if word.startswith("-") and word not in known] == [], line


def test_python_example_runs(readme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the sieve runs as it stands: the bad sample is a dead letter, the good ones are written."""
    (example,) = re.findall(r"```python\n(.*?Sieve.*?)```", readme, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["kept"] == ["cat/1"]
    assert len(names["dead_letters"]) == 2  # type: ignore[arg-type]


def test_guard_example_runs(readme: str) -> None:
    """The example of the guard runs as it stands: the bad sample is told by its key, and no weight is spoiled."""
    torch = pytest.importorskip("torch")
    (example,) = re.findall(r"```python\n((?:(?!```).)*?FiniteGuard.*?)```", readme, re.DOTALL)
    model = torch.nn.Linear(3, 2)
    loader = [(["a", "b"], torch.tensor([[1.0, 2.0, 3.0], [1.0, torch.nan, 3.0]]), torch.tensor([0, 1]))]
    names = {"model": model, "optimizer": torch.optim.SGD(model.parameters(), 0.1), "loader": loader, "criterion": torch.nn.functional.cross_entropy}
    exec(compile(example, "README.md", "exec"), names)
    assert names["guard"].sightings[0].keys == ("b",)
    assert all(each.isfinite().all() for each in model.parameters())


def test_validator_example_works(readme: str, root: Path, tmp_path: Path) -> None:
    """The validator of the README measures and judges as it stands, alone and taken along by a scan."""
    (example,) = re.findall(r"```py\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "my_checks.py").write_text('"""Checks of my own."""\n\n' + example)
    with h5py.File(tmp_path / "set.h5", "w") as file:
        file["data"] = np.stack([np.full((2, 3), value, np.float32) + np.eye(2, 3) for value in (9, 9, 1)])
        file["label"] = np.arange(3)
    command = [sys.executable, "-m", "datascrub", "scan", "set.h5", "--load", "my_checks.py", "--out", "run", "--fail-on", "never"]
    environment = os.environ | {"PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"array-dark +warning +1 .*set\.h5#2\n", done.stdout), done.stdout


def test_links(readme: str, root: Path) -> None:
    """Every file that the README links to is in the clone."""
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", readme) if "://" not in link]
    assert [link for link in links if not (root / link).exists()] == []
