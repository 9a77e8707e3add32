"""Which backend is taken."""

from __future__ import annotations

import subprocess
import sys

import pytest

from datascrub.errors import UsageError
from datascrub.network import choose
from datascrub.network.choose import choose_backend


@pytest.mark.parametrize(
    ("gpu", "installed", "taken"),
    [(True, ("torch", "tensorflow"), "torch"), (True, ("tensorflow",), "tensorflow"), (True, (), "numpy"), (False, ("torch", "tensorflow"), "numpy")],
)
def test_auto(gpu: bool, installed: tuple[str, ...], taken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """auto takes torch, else TensorFlow, where it is installed and there is a GPU, else numpy."""
    monkeypatch.setattr(choose, "has_gpu", lambda: gpu)
    monkeypatch.setattr(choose, "has_package", lambda name: name in installed)
    assert choose_backend() == taken


def test_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy is always there; torch and TensorFlow only where installed; another name is an error that names them all."""
    assert choose_backend("numpy") == "numpy"
    monkeypatch.setattr(choose, "has_package", lambda name: False)
    for name in ("torch", "tensorflow"):
        with pytest.raises(UsageError, match=f"needs the package {name}"):
            choose_backend(name)
    with pytest.raises(UsageError, match="no backend is called 'jax'"):
        choose_backend("jax")


def test_choosing_imports_no_framework() -> None:
    """Neither choosing nor the validator itself imports a framework."""
    code = (
        "import sys; from datascrub.validators import DummyNetwork; from datascrub.network.choose import choose_backend;"
        "choose_backend(); DummyNetwork().check([1.0, 2.0]); sys.exit(bool({'torch', 'tensorflow'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
