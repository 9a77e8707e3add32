"""Which library computes the network: `--backend auto|torch|numpy`."""

from __future__ import annotations

import importlib.util
import platform
import sys
from pathlib import Path

from datascrub.errors import UsageError

BACKENDS = ("auto", "torch", "numpy")


def choose_backend(wanted: str = "auto") -> str:
    """The backend to compute with, "torch" or "numpy". auto takes torch where it is installed and there is a GPU, else numpy.

    Imports neither. Raises UsageError where the backend is unknown, or torch is asked for and not installed.
    """
    if wanted not in BACKENDS:
        raise UsageError(f"no backend is called {wanted!r}", fix=f"choose one of {', '.join(BACKENDS)}")
    if wanted == "torch" and not has_torch():
        raise UsageError("the backend torch needs the package torch", fix="pip install torch, or use --backend numpy")
    if wanted == "auto":
        return "torch" if has_gpu() and has_torch() else "numpy"
    return wanted


def has_torch() -> bool:
    """Whether torch is installed, by its files alone."""
    return importlib.util.find_spec("torch") is not None


def has_gpu() -> bool:
    """Whether this machine shows a GPU that torch could use, by what its driver leaves to see: importing torch takes seconds, this takes none.

    A yes may still be wrong (a driver without a card that works); the torch backend then computes on the CPU.
    """
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    places = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg", "/dev/kfd")  # NVIDIA, the same in a container, Windows' GPU under WSL, AMD
    return any(Path(place).exists() for place in places)
