"""Your own network over every sample, before the training: which samples make its outputs, its loss or its gradients NaN or infinite, and where.

datascrub rehearse data.h5 --model mynet:make --loss mynet:loss

Importing this package does not load torch; a rehearsal does, in a child process.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datascrub.rehearsal.over_source import Rehearsed, rehearse
    from datascrub.rehearsal.trouble import Cast, Trouble

__all__ = ["Cast", "Rehearsed", "Trouble", "rehearse"]
_HOMES = {"Cast": "trouble", "Rehearsed": "over_source", "Trouble": "trouble", "rehearse": "over_source"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"datascrub.rehearsal.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'datascrub.rehearsal' has no attribute {name!r}")
