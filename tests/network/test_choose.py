"""Which backend is taken."""

from __future__ import annotations

import subprocess
import sys

import pytest

from datascrub.errors import UsageError
from datascrub.network import choose
from datascrub.network.choose import choose_backend


@pytest.mark.parametrize(("gpu", "torch", "taken"), [(True, True, "torch"), (True, False, "numpy"), (False, True, "numpy"), (False, False, "numpy")])
def test_auto(gpu: bool, torch: bool, taken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """auto takes torch where it is installed and there is a GPU, else numpy."""
    monkeypatch.setattr(choose, "has_gpu", lambda: gpu)
    monkeypatch.setattr(choose, "has_torch", lambda: torch)
    assert choose_backend() == taken


def test_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy is always there; torch only where it is installed; another name is an error that names the three."""
    assert choose_backend("numpy") == "numpy"
    monkeypatch.setattr(choose, "has_torch", lambda: False)
    with pytest.raises(UsageError, match="needs the package torch"):
        choose_backend("torch")
    with pytest.raises(UsageError, match="no backend is called 'jax'"):
        choose_backend("jax")


def test_choosing_imports_no_torch() -> None:
    """Neither choosing nor the validator itself imports torch."""
    code = (
        "import sys; from datascrub.validators import DummyNetwork; from datascrub.network.choose import choose_backend;"
        "choose_backend(); DummyNetwork().check([1.0, 2.0]); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
