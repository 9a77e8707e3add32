"""What a source is: recognised and surveyed in a child process, put together to the plan of a run."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datascrub
from datascrub.config import Config, FieldConfig
from datascrub.errors import MissingPackageError, SourceError, UsageError, told
from datascrub.model import DECODER, DOMAIN, Field, Kind, Role
from datascrub.plan import Plan
from datascrub.readers import Survey
from datascrub.registry import reader_named, recognise, validators
from datascrub.run.plan_file import Choice, RunPlan
from datascrub.spine.beside import with_masks

DECODERS = ("numpy", "pillow", "simplejpeg", "zxing-cpp", "google-crc32c", "protobuf", "lmdb", "plyvel", "h5py", "duckdb")
PACKAGES = {
    "pillow": ("PIL", "pillow"), "opencv": ("cv2", "opencv-python-headless"), "tensorflow": ("tensorflow", "tensorflow"),
    "torchvision": ("torchvision", "torchvision"),
}  # fmt: skip
"""decoder that can be asked -> its module, and the distribution that holds it"""


def locate(source: str) -> Path:
    """The path of a source. Raises SourceError where it is remote, missing or can't be reached."""
    if re.match(r"[a-z][a-z0-9+.-]+://", source):
        raise SourceError(f"{source}: remote addresses are not read yet", fix="copy or mount the data set and give its path")
    if any(mark in source for mark in "*?[") and not Path(source).exists():
        return Path(source)
    path = Path(source)
    try:
        path.stat()
    except FileNotFoundError:
        raise SourceError(f"{source} does not exist", fix="check the path") from None
    except OSError as error:
        raise SourceError(f"{source} can't be reached: {error.strerror}", fix="check permissions and mounts") from error
    return path


def survey_source(source: str, config: Config, tmp: str | None) -> tuple[str, Survey, dict[str, Any]]:
    """(container, survey, fingerprint) of a source; meant for a child process."""
    _check_decoders(config.data.decoders)
    path = Path(source)
    kind = recognise(path)
    with kind(path, limits=config.limits, tmp=Path(tmp) if tmp else None) as reader:
        fingerprint = dict(reader.fingerprint())
        return kind.name, reader.survey(config.data), fingerprint


def fingerprint_source(source: str, container: str) -> dict[str, Any]:
    """The outside of a source as it is now; meant for a child process."""
    with reader_named(container)(Path(source)) as reader:
        return dict(reader.fingerprint())


def make_plan(source: str, container: str, survey: Survey, fingerprint: Mapping[str, Any], config: Config, choice: Choice, backend: str) -> RunPlan:
    """The plan of a run, from what the survey recognised and the owner declares. Raises UsageError where a declared role names no field."""
    fields = _with_domains(_with_roles(survey.fields, config.data.roles), config.data.fields)
    fields = with_masks(_with_decoders(fields, config.data.decoders))
    task = config.data.task or survey.task or ("classification" if any(f.role is Role.LABEL for f in fields) else "unlabelled")
    plan = Plan(str(_address(source)), container, survey.layout, fields, survey.settings, fingerprint, config.data, config.limits, task)
    return RunPlan(
        plan=plan,
        choice=choice,
        validators={kind.name(): {"version": kind.version} for kind in validators()},
        backend=backend,
        versions=versions(),
        count=survey.count,
        is_count_exact=survey.is_count_exact,
        size_bytes=survey.size_bytes,
        labels=survey.labels,
        notes=survey.notes,
    )


def _address(source: str) -> Path:
    """One address for a source, from wherever it is named; its own name stays, for keys begin with it, also where it is a link."""
    place = Path(source).absolute()
    return place.resolve() if place.name in ("", "..") else place.parent.resolve() / place.name


def _with_roles(fields: tuple[Field, ...], roles: Mapping[str, Role]) -> tuple[Field, ...]:
    names = [field.name for field in fields]
    for name in roles:
        if name not in names:
            raise UsageError(f"data.roles names {name}, which the source does not hold", fix=f"its fields: {', '.join(names)}")
    return tuple(field.in_role(roles.get(field.name, field.role)) for field in fields)


def _with_domains(fields: tuple[Field, ...], declared: Mapping[str, FieldConfig]) -> tuple[Field, ...]:
    for name in declared:
        if all(field.name != name for field in fields):
            raise UsageError(f"[data.fields.{name}] is a field that the source does not hold", fix=f"its fields: {', '.join(f.name for f in fields)}")
    named = {name for name, its in declared.items() if its.is_domain}
    return tuple(dataclasses.replace(field, declared=(*field.declared, DOMAIN)) if field.name in named else field for field in fields)


def _check_decoders(names: Sequence[str]) -> None:
    """Raises MissingPackageError where a decoder that is asked for can't be used. It is imported here, in the child, as the workers will."""
    for name in names:
        module, package = PACKAGES[name]
        try:
            importlib.import_module(module)
        except Exception as error:
            why = "is not installed" if isinstance(error, ModuleNotFoundError) else f"can't be imported: {told(error)}"
            fix = f"pip install {package}, or leave it out of --decoders"
            raise MissingPackageError(f"the decoder {name} needs the package {package}, which {why}", fix=fix) from error


def _with_decoders(fields: tuple[Field, ...], names: Sequence[str]) -> tuple[Field, ...]:
    wanted = tuple(DECODER + name for name in names)
    return tuple(dataclasses.replace(field, declared=(*field.declared, *wanted)) if field.kind is Kind.ENCODED else field for field in fields)


def versions() -> dict[str, str]:
    """Versions of datascrub and of all that decodes for it, where installed."""
    made = {"datascrub": datascrub.__version__}
    for name in DECODERS:
        try:
            made[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return made
