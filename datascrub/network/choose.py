"""Which library computes the network: `--backend auto|torch|tensorflow|numpy`."""

from __future__ import annotations

import importlib.util
import platform
import sys
from pathlib import Path

from datascrub.errors import UsageError

BACKENDS = ("auto", "torch", "tensorflow", "numpy")


def choose_backend(wanted: str = "auto") -> str:
    """The backend to compute with. auto takes torch, else TensorFlow, where it is installed and there is a GPU, else numpy.

    Imports none of them. Raises UsageError where the backend is unknown, or asked for and not installed.
    """
    if wanted not in BACKENDS:
        raise UsageError(f"no backend is called {wanted!r}", fix=f"choose one of {', '.join(BACKENDS)}")
    if wanted == "auto":
        return next((name for name in ("torch", "tensorflow") if has_gpu() and has_package(name)), "numpy")
    if wanted != "numpy" and not has_package(wanted):
        raise UsageError(f"the backend {wanted} needs the package {wanted}", fix=f"pip install {wanted}, or use --backend numpy")
    return wanted


def has_package(name: str) -> bool:
    """Whether a package is installed, by its files alone."""
    return importlib.util.find_spec(name) is not None


def has_gpu() -> bool:
    """Whether this machine shows a GPU that a framework could use, by what its driver leaves to see: importing torch takes seconds, this takes none.

    A yes may still be wrong (a driver without a card that works); the backend then computes on the CPU.
    """
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    places = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg", "/dev/kfd")  # NVIDIA, the same in a container, Windows' GPU under WSL, AMD
    return any(Path(place).exists() for place in places)
