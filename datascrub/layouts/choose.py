"""Which layout a set of records has: found once for the set, by majority over the probed records."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import inspect
import pkgutil
from collections.abc import Sequence
from dataclasses import replace

from datascrub import layouts as layouts_package
from datascrub.config import DataConfig
from datascrub.errors import UsageError
from datascrub.layouts.base import Fit, Layout, Record

_MAJORITY = 0.5


@functools.cache
def known() -> tuple[Layout, ...]:
    """All layouts: those of this package, then those of other distributions."""
    modules = [importlib.import_module(info.name) for info in pkgutil.iter_modules(layouts_package.__path__, layouts_package.__name__ + ".")]
    found: dict[str, type[Layout]] = {}
    for module in modules:
        for item in vars(module).values():
            if inspect.isclass(item) and issubclass(item, Layout) and item.__module__ == module.__name__ and not inspect.isabstract(item):
                found[item.name] = item
    others = [point.load() for point in importlib.metadata.entry_points(group="datascrub.layouts")]
    return tuple(kind() for kind in (*(found[name] for name in sorted(found)), *others))


@functools.cache
def layout_named(name: str) -> Layout:
    """The layout of this name. Raises UsageError with the names there are."""
    by_name = {layout.name: layout for layout in known()}
    if name not in by_name:
        raise UsageError(f"no record layout is called {name}", fix=f"layouts: {', '.join(sorted(by_name))}")
    return by_name[name]


def choose(records: Sequence[Record], data: DataConfig) -> tuple[Layout, Fit]:
    """The layout of these probed records, and how it fits, with the roles that `data` declares.

    data.layout wins, and fits even where no probed record does. Among layouts that fit a majority, the best fit is taken, then the more specific;
    where none has a majority, any layout of pictures or arrays that fits at all, before text and unknown bytes.
    """
    if data.layout is not None:
        layout = layout_named(data.layout)
        return layout, _with_roles(_with_shapes(layout, layout.fit(records) or Fit(0.0, ()), data), data)
    fits = [(layout, fit) for layout in known() if (fit := layout.fit(records)) is not None]
    best = max(
        fits,
        key=lambda pair: (pair[1].share >= _MAJORITY, pair[1].share > 0 and pair[0].specificity > 0, round(pair[1].share, 2), pair[0].specificity),
    )
    return best[0], _with_roles(_with_shapes(*best, data), data)


def _with_shapes(layout: Layout, fit: Fit, data: DataConfig) -> Fit:
    return replace(fit, fields=layout.declared(fit.fields, data.fields)) if data.fields else fit


def _with_roles(fit: Fit, data: DataConfig) -> Fit:
    """Raises UsageError where a role is declared for a field that the records don't hold."""
    missing = sorted(set(data.roles) - {field.name for field in fit.fields})
    if missing and fit.fields:
        raise UsageError(
            f"data.roles names {missing[0]}, which the records don't hold", fix=f"fields: {', '.join(field.name for field in fit.fields)}"
        )
    return replace(fit, fields=tuple(field.in_role(data.roles.get(field.name, field.role)) for field in fit.fields))
