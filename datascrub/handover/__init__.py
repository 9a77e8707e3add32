"""Hand a scanned set over to a training without copying it: what a finished run keeps, as torch and tf.data read it, and as lists in files.

    from datascrub.handover import CleanDataset, CleanSampler     # torch
    from datascrub.handover import drop_quarantined               # tf.data
    from datascrub.handover import kept_of, write_list            # any other

Importing this package loads neither framework.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datascrub.handover.kept import Kept, kept_of
    from datascrub.handover.lists import write_list
    from datascrub.handover.tensorflow import drop_quarantined
    from datascrub.handover.torch import CleanDataset, CleanSampler

__all__ = ["CleanDataset", "CleanSampler", "Kept", "drop_quarantined", "kept_of", "write_list"]
_HOMES = {
    "CleanDataset": "torch", "CleanSampler": "torch", "drop_quarantined": "tensorflow", "Kept": "kept", "kept_of": "kept", "write_list": "lists",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"datascrub.handover.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'datascrub.handover' has no attribute {name!r}")
