"""Validators: one file per validator, its docstring its page. `from datascrub.validators import Finite` imports that file alone."""

from __future__ import annotations

import importlib
import re
from typing import Any


def __getattr__(name: str) -> Any:
    if not name[:1].isupper():
        raise AttributeError(name)
    module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    try:
        return getattr(importlib.import_module(f"datascrub.validators.{module}"), name)
    except ModuleNotFoundError as error:
        if error.name != f"datascrub.validators.{module}":
            raise
        raise AttributeError(f"no validator is called {name}") from None
