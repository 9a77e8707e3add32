"""datascrub finds the samples that break training, before training.

The public names, and nothing else; each is imported when it is first used, so that `import datascrub` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datascrub.api import Run, Watcher, clean, judge, look, scan, survey
    from datascrub.config import Config, DataConfig
    from datascrub.errors import DatascrubError
    from datascrub.model import Finding, Role, Severity
    from datascrub.sieve import Rejected, Sieve

__version__ = "0.1.0"
__all__ = [
    "Config", "DataConfig", "DatascrubError", "Finding", "Rejected", "Role", "Run", "Severity", "Sieve", "Watcher",
    "clean", "judge", "look", "scan", "survey",
]  # fmt: skip

_HOMES = {
    "api": ("Run", "Watcher", "clean", "judge", "look", "scan", "survey"),
    "config": ("Config", "DataConfig"),
    "errors": ("DatascrubError",),
    "model": ("Finding", "Role", "Severity"),
    "sieve": ("Rejected", "Sieve"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"datascrub.{home}"), name)
    raise AttributeError(f"module 'datascrub' has no attribute {name!r}")
