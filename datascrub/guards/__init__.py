"""Guards for the real network: where in a training a number first stops being finite, and which samples of the batch brought it.

    from datascrub.guards import FiniteGuard          # torch
    from datascrub.guards import KerasFiniteGuard     # TensorFlow and Keras

Importing this package loads neither framework; a guard loads its own.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datascrub.guards.keras import KerasFiniteGuard
    from datascrub.guards.sighting import NotFiniteError, NotFiniteWarning, Sighting
    from datascrub.guards.torch import FiniteGuard

__all__ = ["FiniteGuard", "KerasFiniteGuard", "NotFiniteError", "NotFiniteWarning", "Sighting"]
_HOMES = {"FiniteGuard": "torch", "KerasFiniteGuard": "keras", "NotFiniteError": "sighting", "NotFiniteWarning": "sighting", "Sighting": "sighting"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"datascrub.guards.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'datascrub.guards' has no attribute {name!r}")
