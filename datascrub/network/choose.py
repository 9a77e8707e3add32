"""Which library computes the network, and where: `--backend auto|torch|tensorflow|numpy`, `--device`; and what else a run fixes for its network."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datascrub.config import Config
from datascrub.errors import UsageError

BACKENDS = ("auto", "torch", "tensorflow", "numpy")


def choose_backend(wanted: str = "auto", on: str = "auto") -> str:
    """The backend to compute with. auto takes torch, else TensorFlow, where it is installed and there is a GPU, else numpy. on: the device wanted.

    Imports none of them. Raises UsageError where the backend is unknown, or asked for and not installed.
    """
    if wanted not in BACKENDS:
        raise UsageError(f"no backend is called {wanted!r}", fix=f"choose one of {', '.join(BACKENDS)}")
    if wanted == "auto":
        is_wanted = on not in ("auto", "cpu") or (on == "auto" and has_gpu())
        return next((name for name in ("torch", "tensorflow") if is_wanted and has_package(name)), "numpy")
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


def settings_of(config: Config) -> dict[str, Any]:
    """What a configuration fixes for the network, as plain JSON that names the parameters of its validator; empty where it says nothing."""
    its = config.network
    made: dict[str, Any] = {}
    if its.device != "auto":
        made["device"] = its.device
    if its.backward:
        made["backward"] = True
    if its.precisions:
        made["precisions"] = list(its.precisions)
    if config.preprocess is not None:
        made["preprocess"] = {name: value for name, value in dataclasses.asdict(config.preprocess).items() if value is not None}
    return made


def checked(settings: Mapping[str, Any], backend: str) -> dict[str, Any]:
    """The settings, after a look whether the device is there and the user's own function can be had; meant for a child process.

    A function's file becomes part of them by its digest: where it is written anew, the facts are measured anew. Raises UsageError.
    """
    from datascrub.network.preprocess import digest_of

    made = dict(settings)
    importlib.import_module(f"datascrub.network.{backend}").ops(settings.get("device", "auto"))
    call = settings.get("preprocess", {}).get("call")
    return made if call is None else {**made, "preprocess_digest": digest_of(call)}
