"""datascrub.toml and flags -> one typed, validated value. An unknown key is an error that names its nearest neighbour."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
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
DECODERS = ("pillow", "opencv", "tensorflow", "torchvision")
SAMPLES = ("row", "group", "file")
SWITCHES = ("exact_statistics", "bar_codes")
"""of [data]: what costs much and serves few, measured where it is asked for; parameters of validators by these names"""
RAW_DTYPES = ("uint8", "int8", "uint16", "int16", "int32", "int64", "float16", "float32", "float64")
SHORT_NAMES = {"fp32": "float32", "fp16": "float16", "half": "float16", "bf16": "bfloat16"}
LAYOUTS = ("HWC", "CHW", "HWC->CHW", "CHW->HWC")
MODES = ("RGB", "L", "")
_OWN = ("sample", "channel")
ACCEPTED = "datascrub-accepted.csv"
"""where reviewed decisions lie unless told otherwise: beside the configuration, and without one in the working directory"""


@dataclass(frozen=True)
class FieldConfig:
    """[data.fields.<name>]: what the values of one field are. None is "not declared".

    range: (lowest, highest). positive: a logarithm is taken of them. nonzero: they divide. exp: their exponential is taken. zeros: the largest
    share of zeros that a sample may have. shape, dtype: of the numbers in a feature of raw bytes.
    """

    range: tuple[float, float] | None = None
    positive: bool | None = None
    nonzero: bool | None = None
    exp: bool | None = None
    zeros: float | None = None
    shape: tuple[int, ...] | None = None
    dtype: str | None = None

    @property
    def is_domain(self) -> bool:
        """Whether it says something of the values, and not only how they lie in bytes."""
        return any(value is not None for value in (self.range, self.positive, self.nonzero, self.exp, self.zeros))


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
    decoders: tuple[str, ...] = ()
    sample: str | None = None
    fields: Mapping[str, FieldConfig] = field(default_factory=dict)
    exact_statistics: bool = False
    bar_codes: bool = False

    @property
    def class_count(self) -> int | None:
        return self.classes if self.classes is None or isinstance(self.classes, int) else len(self.classes)


@dataclass(frozen=True)
class PreprocessConfig:
    """[preprocess]: what the training does to a sample before its network sees it, in this order. None is "not done".

    mode: colours of a decoded picture (RGB, L, or "" as stored). resize, crop: (height, width), or one number: the shorter side, a square.
    scale: every value times this. mean, std: subtracted, divided by: one number, one for each channel, or
    "sample" or "channel" for those of the sample itself.
    layout: HWC or CHW, as the network takes it; "HWC->CHW" where an array is stored in another. dtype: of what the network gets.
    call: pkg.mod:fn, a function from array to array that does it all instead.
    """

    mode: str = "RGB"
    resize: int | tuple[int, int] | None = None
    crop: int | tuple[int, int] | None = None
    scale: float | None = None
    mean: float | tuple[float, ...] | str | None = None
    std: float | tuple[float, ...] | str | None = None
    layout: str | None = None
    dtype: str = "float32"
    call: str | None = None


@dataclass(frozen=True)
class NetworkConfig:
    """[network]: how deep the dummy network looks.

    device: auto, cpu, gpu, cuda, cuda:1, mps. backward: gradients too. precisions: which samples are finite in one of them and not in another.
    """

    device: str = "auto"
    backward: bool = False
    precisions: tuple[str, ...] = ()


@dataclass(frozen=True)
class RuleConfig:
    """[rules.<code>]: how one rule is judged. thresholds: parameters of its validator, by name. where, says: a rule of the user's own.

    warn_if, fail_if: how many samples (int), or which share of them (float, to 1.0), the rule must at least fire on for the run to be a warning or an
    error; where one is given, what the rule says of single samples does not count for the exit code.
    """

    severity: Severity | None = None
    enabled: bool = True
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    where: str | None = None
    says: str | None = None
    warn_if: int | float | None = None
    fail_if: int | float | None = None

    @property
    def is_counted(self) -> bool:
        return self.warn_if is not None or self.fail_if is not None


@dataclass(frozen=True)
class ReportConfig:
    """[report]: how findings are told. loud_share: a warning that fires on more than this share of the samples is said of the set, first."""

    loud_share: float = 0.2


@dataclass(frozen=True)
class Config:
    """All that a user can set. accepted: the file of reviewed decisions; None is ACCEPTED in the working directory."""

    data: DataConfig = DataConfig()
    rules: Mapping[str, RuleConfig] = field(default_factory=dict)
    limits: Limits = Limits()
    network: NetworkConfig = NetworkConfig()
    preprocess: PreprocessConfig | None = None
    report: ReportConfig = ReportConfig()
    accepted: str | None = None


def load(path: Path | None, overrides: Mapping[str, Any] | None = None, base: Config | None = None) -> Config:
    """The configuration of a file, with flags laid over it.

    base: what holds where neither says anything; of its rules, only without a file: one that leaves a rule out means to.
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
            if not isinstance(place, dict):
                raise UsageError(f"{dotted} can't be set: {group} is {place!r}, and no table", fix="give each key once")
        place[last] = _toml_value(value)
    config = from_table(table, base or Config())
    if path is None and base is not None:
        report = config.report if "report" in table else base.report
        config = dataclasses.replace(config, rules={**base.rules, **config.rules}, report=report, accepted=config.accepted or base.accepted)
    if path is not None and "accepted" not in (overrides or {}):
        config = dataclasses.replace(config, accepted=str(path.parent / (config.accepted or ACCEPTED)))
    return config


def _toml_value(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value


def from_table(table: Mapping[str, Any], base: Config = Config()) -> Config:
    """The configuration of a parsed TOML table; of what it does not declare of the data, `base` speaks."""
    _known(table, tuple(f.name for f in dataclasses.fields(Config)), "")
    rules = {code: _rule(code, its) for code, its in _table(table.get("rules", {}), "rules").items()}
    data, limits, report = (_table(table.get(name, {}), name) for name in ("data", "limits", "report"))
    accepted = _expect(table["accepted"], str, "accepted", "the path of a file") if "accepted" in table else None
    network = _network(_table(table.get("network", {}), "network"))
    preprocess = _preprocess(_table(table["preprocess"], "preprocess")) if "preprocess" in table else None
    return Config(_data(data, base.data), rules, _limits(limits), network, preprocess, report=_report(report), accepted=accepted)


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


def _data(table: Mapping[str, Any], base: DataConfig) -> DataConfig:
    _known(table, tuple(f.name for f in dataclasses.fields(DataConfig)), "data")
    made: dict[str, Any] = dict(table)
    if "classes" in made:
        made["classes"] = _classes(made["classes"])
    if "ignore_labels" in made:
        labels = _listed(made["ignore_labels"])
        made["ignore_labels"] = tuple(_expect(label, int, "data.ignore_labels", "a list of integers") for label in labels)
    if "precision" in made:
        made["precision"] = _full_name(made["precision"])
    chosen = {"task": TASKS, "precision": tuple(PRECISIONS), "loader": LOADERS, "annotation_format": ANNOTATION_FORMATS, "sample": SAMPLES}
    for name, choices in chosen.items():
        if name in made:
            _choice(made[name], choices, f"data.{name}")
    if "batch_size" in made and _expect(made["batch_size"], int, "data.batch_size", "a positive number of samples") < 1:
        raise UsageError(f"data.batch_size is a positive number of samples, not {made['batch_size']}")
    for group, kind, expected in ((("layout", "masks", "annotations"), str, "a text"), (SWITCHES, bool, "true or false")):
        for name in [each for each in group if each in made]:
            _expect(made[name], kind, f"data.{name}", expected)
    if "roles" in made:
        roles = tuple(role.value for role in Role if role is not Role.RECORD)
        made["roles"] = {name: Role(_choice(role, roles, f"data.roles.{name}")) for name, role in _table(made["roles"], "data.roles").items()}
    if "decoders" in made:
        names = made["decoders"].split(",") if isinstance(made["decoders"], str) else made["decoders"]
        made["decoders"] = tuple(_choice(name, DECODERS, "data.decoders") for name in _expect(names, list, "data.decoders", "a list of decoders"))
    if "fields" in made:
        made["fields"] = {name: _field(f"data.fields.{name}", its) for name, its in _table(made["fields"], "data.fields").items()}
    return dataclasses.replace(base, **made)


def _field(place: str, value: Any) -> FieldConfig:
    made: dict[str, Any] = dict(_table(value, place))
    _known(made, tuple(f.name for f in dataclasses.fields(FieldConfig)), place)
    for name in ("positive", "nonzero", "exp"):
        if name in made:
            _expect(made[name], bool, f"{place}.{name}", "true or false")
    if "range" in made:
        wanted, ends = "[lowest, highest]", made["range"]
        if not isinstance(ends, list) or len(ends) != 2 or not all(isinstance(end, (int, float)) for end in ends) or not ends[0] <= ends[1]:
            raise UsageError(f"{place}.range is {wanted}, not {ends!r}")
        made["range"] = (float(ends[0]), float(ends[1]))
    if "zeros" in made and not 0 <= _expect(made["zeros"], (int, float), f"{place}.zeros", "a share from 0 to 1") <= 1:
        raise UsageError(f"{place}.zeros is a share from 0 to 1, not {made['zeros']}")
    if "shape" in made:
        axes = _expect(made["shape"], list, f"{place}.shape", "a list of lengths")
        if any(_expect(axis, int, f"{place}.shape", "a list of lengths") < 1 for axis in axes):
            raise UsageError(f"{place}.shape is a list of lengths of at least 1, not {axes}")
        made["shape"] = tuple(axes)
    if "dtype" in made:
        _choice(made["dtype"], RAW_DTYPES, f"{place}.dtype")
    return FieldConfig(**made)


def _listed(value: Any) -> list[Any]:
    """A list, also from a single value or, as flags give it, from texts divided by commas."""
    if isinstance(value, str):
        return [_toml_value(each.strip()) for each in value.split(",")]
    return value if isinstance(value, list) else [value]


def _classes(value: Any) -> int | tuple[str, ...]:
    if isinstance(value, str):
        value = [each.strip() for each in value.split(",")]
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
    warn_if, fail_if = (_at_least(table.pop(name, None), f"rules.{code}.{name}") for name in ("warn_if", "fail_if"))
    return RuleConfig(severity, enabled, table, where, says, warn_if, fail_if)


def _at_least(value: Any, place: str) -> int | float | None:
    """A number of samples as int, or a share of them as float, from 10, 0.01 or "1%"."""
    wanted = 'a number of samples, or a share as "1%"'
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    share = value
    if isinstance(value, str):
        try:
            share = float(value.removesuffix("%")) / 100 if value.endswith("%") else value
        except ValueError:
            share = value
    if not isinstance(share, float) or not 0 < share <= 1:
        raise UsageError(f"{place} is {wanted}, not {value!r}")
    return share


def _report(table: Mapping[str, Any]) -> ReportConfig:
    _known(table, tuple(f.name for f in dataclasses.fields(ReportConfig)), "report")
    share = table.get("loud_share", ReportConfig.loud_share)
    share = _at_least(share, "report.loud_share") if share != 1 else 1.0
    if not isinstance(share, float):
        raise UsageError(f'report.loud_share is a share as "20%", not {table["loud_share"]!r}')
    return ReportConfig(share)


def _limits(table: Mapping[str, Any]) -> Limits:
    _known(table, tuple(f.name for f in dataclasses.fields(Limits)), "limits")
    for name, value in table.items():
        if _expect(value, (int, float), f"limits.{name}", "a positive number") <= 0:
            raise UsageError(f"limits.{name} is a positive number, not {value}")
    return Limits(**table)


def _full_name(precision: Any) -> Any:
    return SHORT_NAMES.get(precision, precision) if isinstance(precision, str) else precision


def _network(table: Mapping[str, Any]) -> NetworkConfig:
    _known(table, tuple(f.name for f in dataclasses.fields(NetworkConfig)), "network")
    made: dict[str, Any] = dict(table)
    if "device" in made and not re.fullmatch(r"auto|cpu|mps|(gpu|cuda)(:\d+)?", _expect(made["device"], str, "network.device", "a text")):
        raise UsageError(f"network.device is auto, cpu, gpu, cuda, cuda:1 or mps, not {made['device']!r}")
    if "backward" in made:
        _expect(made["backward"], bool, "network.backward", "true or false")
    if "precisions" in made:
        names = _expect(made["precisions"], list, "network.precisions", "a list of precisions")
        made["precisions"] = tuple(_choice(_full_name(name), tuple(PRECISIONS), "network.precisions") for name in names)
    return NetworkConfig(**made)


def _preprocess(table: Mapping[str, Any]) -> PreprocessConfig:
    _known(table, tuple(f.name for f in dataclasses.fields(PreprocessConfig)), "preprocess")
    made: dict[str, Any] = dict(table)
    for name, choices in (("mode", MODES), ("layout", LAYOUTS), ("dtype", ("float32", "float16", "bfloat16", "float64", "uint8"))):
        if name in made:
            _choice(_full_name(made[name]), choices, f"preprocess.{name}")
    if "dtype" in made:
        made["dtype"] = _full_name(made["dtype"])
    for name in ("resize", "crop"):
        if name in made:
            made[name] = _size(made[name], f"preprocess.{name}")
    if "scale" in made:
        _real(made["scale"], "preprocess.scale")
    for name in ("mean", "std"):
        if name in made and made[name] not in _OWN:
            made[name] = _reals(made[name], f"preprocess.{name}")
    if 0 in (made["std"] if isinstance(made.get("std"), tuple) else (made.get("std"),)):
        raise UsageError("preprocess.std is 0, and every sample would be divided by it", fix="give the deviation of the set, or leave it out")
    if made.get("call") is not None:
        if not re.fullmatch(r"[\w.]+:[\w.]+", _expect(made["call"], str, "preprocess.call", "a text")):
            raise UsageError(f"preprocess.call is pkg.mod:fn, not {made['call']!r}")
        if len(made) > 1:
            raise UsageError("preprocess.call does it all: no other key of [preprocess] stands beside it")
    return PreprocessConfig(**made)


def _real(value: Any, place: str) -> float:
    if not math.isfinite(_expect(value, (int, float), place, "a number")):
        raise UsageError(f"{place} is a finite number, not {value}")
    return float(value)


def _reals(value: Any, place: str) -> float | tuple[float, ...]:
    if isinstance(value, list) and value:
        return tuple(_real(each, place) for each in value)
    if isinstance(value, (str, list)):
        raise UsageError(f"{place} is a number, one for each channel, or one of {', '.join(_OWN)}, not {value!r}")
    return _real(value, place)


def _size(value: Any, place: str) -> int | tuple[int, int]:
    sides = value if isinstance(value, list) else [value]
    if len(sides) > 2 or not sides or any(_expect(side, int, place, "a number of pixels, or [height, width]") < 1 for side in sides):
        raise UsageError(f"{place} is a number of pixels, or [height, width], not {value!r}")
    return (sides[0], sides[1]) if len(sides) == 2 else int(sides[0])
