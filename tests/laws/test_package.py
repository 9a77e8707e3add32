"""Laws over the package itself: what importing costs, and that each file says what it is."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"torch", "tensorflow", "duckdb", "h5py", "lmdb", "plyvel", "PIL", "zxingcpp", "simplejpeg", "ray", "pandas", "pyarrow"}


def loaded_by(statement: str, root: Path) -> set[str]:
    """Top-level modules that a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    environment = os.environ | {"PYTHONPATH": str(root)}
    return set(subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("statement", ["import datascrub", "from datascrub.validators import Finite", "from datascrub import Sieve"])
def test_import_is_light(statement: str, root: Path) -> None:
    """Importing datascrub, one validator or the sieve loads none of the heavy packages."""
    assert loaded_by(statement, root) & HEAVY == set()


def test_registry_loads_no_framework(root: Path) -> None:
    """Finding every reader, layout and validator loads neither torch nor tensorflow nor the containers' libraries."""
    statement = "from datascrub import registry\nregistry.readers(), registry.layouts(), registry.validators()"
    assert loaded_by(statement, root) & {"torch", "tensorflow", "duckdb", "h5py", "lmdb", "plyvel", "ray"} == set()


def test_every_public_name_exists(root: Path) -> None:
    """What datascrub.__all__ promises can be had."""
    import datascrub

    assert [name for name in datascrub.__all__ if not hasattr(datascrub, name)] == []


def test_every_module_says_what_it_is(root: Path) -> None:
    """Each module of the package and of the tests that holds anything begins with a docstring."""
    texts = {
        file: file.read_text("utf-8") for place, names in (("datascrub", "*.py"), ("tests", "test_*.py")) for file in (root / place).rglob(names)
    }
    silent = [str(file.relative_to(root)) for file, text in texts.items() if text.strip() and ast.get_docstring(ast.parse(text)) is None]
    assert silent == []


def test_every_test_states_its_fact(root: Path) -> None:
    """Each test function has a docstring."""
    silent = []
    for file in (root / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and ast.get_docstring(node) is None:
                silent.append(f"{file.relative_to(root)}: {node.name}")
    assert silent == []


def test_the_strangers_package_is_never_named(root: Path) -> None:
    """No text of ours tells anybody to install the stranger's package of the same name."""
    told = "pip install " + "datascrub"
    kinds = {".py", ".md", ".toml", ""}
    folders = ("datascrub", "docs", "scripts", "tests", ".ci")
    files = [*root.glob("*.*"), *(file for folder in folders for file in (root / folder).rglob("*"))]
    texts = {file: file.read_text("utf-8", "replace") for file in files if file.is_file() and file.suffix in kinds}
    guilty = [str(file.relative_to(root)) for file, text in texts.items() if told in text.replace(told + "-ml", "").replace("'", "").replace('"', "")]
    assert guilty == []
