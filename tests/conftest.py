"""What all tests share: property tests that run the same inputs each time, and the fixtures of scripts/make_fixtures.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def root() -> Path:
    """The clone."""
    return ROOT


@pytest.fixture(scope="session")
def fixtures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what scripts/make_fixtures.py makes: one damaged set in each container, and answers.json."""
    folder = tmp_path_factory.mktemp("fixtures")
    subprocess.run([sys.executable, ROOT / "scripts" / "make_fixtures.py", folder], check=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    return folder


@pytest.fixture
def corpus() -> Path:
    """The folder of real files; the test is skipped where DATASCRUB_CORPUS names none."""
    return _folder_named("DATASCRUB_CORPUS")


@pytest.fixture
def cases() -> Path:
    """The folder of small cases with their right answers; the test is skipped where DATASCRUB_CASES names none."""
    return _folder_named("DATASCRUB_CASES")


def _folder_named(variable: str) -> Path:
    """The folder that an environment variable names."""
    named = os.environ.get(variable)
    if not named:
        pytest.skip(f"{variable} names no folder")
    return Path(named).resolve()
