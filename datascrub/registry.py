"""What there is: readers, layouts and validators, found by walking their packages, then the entry points of other distributions. No list to edit."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from datascrub import layouts as layouts_package
from datascrub import readers as readers_package
from datascrub import validators as validators_package
from datascrub.errors import SourceError, UsageError
from datascrub.layouts import Layout
from datascrub.readers import Reader
from datascrub.rules import Rule
from datascrub.validators.base import Validator

T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """A rule in the catalogue, and the validator that holds it."""

    rule: Rule
    validator: type[Validator]


def _walk(package: Any, base: type[T], group: str) -> list[type[T]]:
    """The concrete subclasses of `base` that the modules of a package define, sorted by name, then those of the entry points."""
    modules = [importlib.import_module(info.name) for info in pkgutil.iter_modules(package.__path__, package.__name__ + ".")]
    found = {
        item.__name__: item
        for module in modules
        for item in vars(module).values()
        if inspect.isclass(item) and issubclass(item, base) and item.__module__ == module.__name__ and not inspect.isabstract(item)
    }
    others = [point.load() for point in importlib.metadata.entry_points(group=group)]
    return [found[name] for name in sorted(found)] + others


@functools.cache
def readers() -> tuple[type[Reader], ...]:
    """All readers."""
    return tuple(_walk(readers_package, Reader, "datascrub.readers"))  # type: ignore[type-abstract]  # a registry of an abstract class


@functools.cache
def layouts() -> tuple[type[Layout], ...]:
    """All record layouts."""
    return tuple(_walk(layouts_package, Layout, "datascrub.layouts"))  # type: ignore[type-abstract]  # a registry of an abstract class


@functools.cache
def _built_in() -> tuple[type[Validator], ...]:
    return tuple(_walk(validators_package, Validator, "datascrub.validators"))  # type: ignore[type-abstract]  # a registry of an abstract class


@functools.cache
def _loaded() -> dict[str, tuple[type[Validator], ...]]:
    """file -> its validators: what load() has brought into this process."""
    return {}


def load(files: Iterable[str]) -> None:
    """Bring the validators of files of the user's own into the catalogue of this process. Raises UsageError where a file holds none or fails."""
    for file in files:
        if file not in _loaded():
            _loaded()[file] = _validators_of(Path(file))


def _validators_of(file: Path) -> tuple[type[Validator], ...]:
    name = f"datascrub_loaded_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise UsageError(f"can't load {file}", fix="give a Python file that defines validators")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"{file} fails when it is imported: {type(error).__name__}: {error}") from error
    kinds = [item for item in vars(module).values() if inspect.isclass(item) and issubclass(item, Validator) and item.__module__ == name]
    if not kinds:
        raise UsageError(
            f"{file} defines no validator", fix="a validator is a frozen dataclass that derives from datascrub.validators.base.Validator"
        )
    return tuple(kinds)


def validators() -> tuple[type[Validator], ...]:
    """All validators: the house's own, those of other distributions, those of loaded files."""
    return (*_built_in(), *(kind for kinds in _loaded().values() for kind in kinds))


def catalogue() -> Mapping[str, Entry]:
    """Every rule by its code, sorted. Raises UsageError where two validators claim one code.

    Of a fault that a validator sees in a row or in the set, two rules with one code, the first stands for both.
    """
    entries: dict[str, Entry] = {}
    for kind in validators():
        for rule in kind().rules():
            if rule.code in entries and entries[rule.code].validator is not kind:
                raise UsageError(f"the code {rule.code} is claimed by {kind.__name__} and {entries[rule.code].validator.__name__}")
            entries.setdefault(rule.code, Entry(rule, kind))
    return {code: entries[code] for code in sorted(entries)}


def reader_named(name: str) -> type[Reader]:
    """The reader of a container. Raises KeyError."""
    return {kind.name: kind for kind in readers()}[name]


def recognise(source: Path) -> type[Reader]:
    """The reader whose container the source is, by content. Raises SourceError where none knows it."""
    for kind in readers():
        if kind.recognises(source):
            return kind
    known = ", ".join(kind.title for kind in readers())
    if source.is_file() and source.stat().st_size == 0:
        raise SourceError(f"{source} is empty", fix="write the data set again; there is nothing to scan")
    raise SourceError(f"{source} is not recognised", fix=f"point at a data set in one of: {known}")
