"""datascrub.toml and flags -> one typed, validated value. An unknown key is an error that names its nearest neighbour."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datascrub.errors import UsageError
from datascrub.model import Limits, Role, Severity

TASKS = ("classification", "multilabel", "regression", "unlabelled")
PRECISIONS: Mapping[str, float] = {"float32": 3.4028234663852886e38, "float16": 65504.0, "bfloat16": 3.3895313892515355e38}
"""training precision -> its largest finite number"""
LOADERS = ("pillow", "opencv", "tensorflow", "torchvision", "caffe")
ANNOTATION_FORMATS = ("yolo", "voc", "coco")


@dataclass(frozen=True)
class DataConfig:
    """[data]: what the set is, as its owner declares it. None is "not declared"."""

    classes: int | tuple[str, ...] | None = None
    ignore_labels: tuple[int, ...] = ()
    task: str | None = None
    precision: str = "float32"
    batch_size: int | None = None
    loader: str | None = None
    layout: str | None = None
    roles: Mapping[str, Role] = field(default_factory=dict)
    masks: str | None = None
    annotations: str | None = None
    annotation_format: str | None = None

    @property
    def class_count(self) -> int | None:
        return self.classes if self.classes is None or isinstance(self.classes, int) else len(self.classes)


@dataclass(frozen=True)
class RuleConfig:
    """[rules.<code>]: how one rule is judged. thresholds: parameters of its validator, by name. where, says: a rule of the user's own."""

    severity: Severity | None = None
    enabled: bool = True
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    where: str | None = None
    says: str | None = None


@dataclass(frozen=True)
class Config:
    """All that a user can set."""

    data: DataConfig = DataConfig()
    rules: Mapping[str, RuleConfig] = field(default_factory=dict)
    limits: Limits = Limits()


def load(path: Path | None, overrides: Mapping[str, Any] | None = None) -> Config:
    """The configuration of a file, with flags laid over it.

    overrides: "data.classes" -> value, as `--set` and the flags give it; a text is read as TOML where it is that, else taken as it stands.
    Raises UsageError with the key, the nearest known key and what is expected.
    """
    table: dict[str, Any] = {}
    if path is not None:
        try:
            table = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise UsageError(f"can't read the configuration {path}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} is no TOML: {error}") from error
    for dotted, value in (overrides or {}).items():
        *groups, last = dotted.split(".")
        place = table
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = _toml_value(value)
    return from_table(table)


def _toml_value(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value


def from_table(table: Mapping[str, Any]) -> Config:
    """The configuration of a parsed TOML table."""
    _known(table, ("data", "rules", "limits"), "")
    rules = {code: _rule(code, its) for code, its in _table(table.get("rules", {}), "rules").items()}
    return Config(_data(_table(table.get("data", {}), "data")), rules, _limits(_table(table.get("limits", {}), "limits")))


def _known(table: Mapping[str, Any], names: tuple[str, ...], place: str) -> None:
    for name in table:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1, 0.5)
            where = f"[{place}] " if place else ""
            raise UsageError(f"unknown key {where}{name}", fix=f"did you mean {near[0]}?" if near else f"known keys: {', '.join(sorted(names))}")


def _table(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"[{place}] is a table, not {value!r}")
    return value


def _expect(value: Any, kinds: type | tuple[type, ...], place: str, wanted: str) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise UsageError(f"{place} is {wanted}, not {value!r}")
    return value


def _choice(value: Any, choices: tuple[str, ...], place: str) -> str:
    if value not in choices:
        near = difflib.get_close_matches(str(value), choices, 1, 0.5)
        raise UsageError(f"{place} is one of {', '.join(choices)}, not {value!r}", fix=f"did you mean {near[0]}?" if near else "")
    return str(value)


def _data(table: Mapping[str, Any]) -> DataConfig:
    _known(table, tuple(f.name for f in dataclasses.fields(DataConfig)), "data")
    made: dict[str, Any] = dict(table)
    if "classes" in made:
        made["classes"] = _classes(made["classes"])
    if "ignore_labels" in made:
        labels = made["ignore_labels"] if isinstance(made["ignore_labels"], list) else [made["ignore_labels"]]
        made["ignore_labels"] = tuple(_expect(label, int, "data.ignore_labels", "a list of integers") for label in labels)
    for name, choices in (("task", TASKS), ("precision", tuple(PRECISIONS)), ("loader", LOADERS), ("annotation_format", ANNOTATION_FORMATS)):
        if name in made:
            _choice(made[name], choices, f"data.{name}")
    if "batch_size" in made and _expect(made["batch_size"], int, "data.batch_size", "a positive number of samples") < 1:
        raise UsageError(f"data.batch_size is a positive number of samples, not {made['batch_size']}")
    for name in ("layout", "masks", "annotations"):
        if name in made:
            _expect(made[name], str, f"data.{name}", "a text")
    if "roles" in made:
        roles = tuple(role.value for role in Role if role is not Role.RECORD)
        made["roles"] = {name: Role(_choice(role, roles, f"data.roles.{name}")) for name, role in _table(made["roles"], "data.roles").items()}
    return DataConfig(**made)


def _classes(value: Any) -> int | tuple[str, ...]:
    if isinstance(value, list):
        return tuple(_expect(name, str, "data.classes", "a number, or a list of names") for name in value)
    if _expect(value, int, "data.classes", "a number, or a list of names") < 1:
        raise UsageError(f"data.classes is at least 1, not {value}")
    return int(value)


def _rule(code: str, value: Any) -> RuleConfig:
    table = dict(_table(value, f"rules.{code}"))
    severity = table.pop("severity", None)
    if severity is not None:
        severity = Severity(_choice(severity, tuple(s.value for s in Severity), f"rules.{code}.severity"))
    enabled = _expect(table.pop("enabled", True), bool, f"rules.{code}.enabled", "true or false")
    where, says = table.pop("where", None), table.pop("says", None)
    for name, text in (("where", where), ("says", says)):
        if text is not None:
            _expect(text, str, f"rules.{code}.{name}", "a text")
    return RuleConfig(severity, enabled, table, where, says)


def _limits(table: Mapping[str, Any]) -> Limits:
    _known(table, tuple(f.name for f in dataclasses.fields(Limits)), "limits")
    for name, value in table.items():
        if _expect(value, (int, float), f"limits.{name}", "a positive number") <= 0:
            raise UsageError(f"limits.{name} is a positive number, not {value}")
    return Limits(**table)
