"""The validators in an ETL of one's own: over any stream, no file written, findings not hoarded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from datascrub.errors import UsageError
from datascrub.model import Column, Finding, Kind, Limits, Role, Severity
from datascrub.rules import SetRule
from datascrub.rules.rows import RowJudge
from datascrub.validators.base import UNDECLARED, Validator, as_column

if TYPE_CHECKING:
    from datascrub.api import Run

Sample = Mapping[str, Any]


@dataclass(frozen=True)
class Rejected:
    """A sample that an error was found on, all its findings, and its key."""

    sample: Any
    findings: tuple[Finding, ...]
    key: str | None


class Sieve:
    """Lets samples through that no error is found on.

    validators: what to measure and judge. roles: name of a field in a sample -> its role ("image", "array", "label", …);
    fields that are not named are not looked at. key: the field that holds a sample's key.
    declared: what the data is said to be (classes, ignore_labels, task, precision, …).
    A sieve can be pickled into the workers of any engine.
    """

    def __init__(
        self,
        validators: Sequence[Validator],
        *,
        roles: Mapping[str, str],
        key: str | None = None,
        declared: Mapping[str, Any] | None = None,
        limits: Limits = Limits(),
    ) -> None:
        self.validators, self.key, self.limits = tuple(validators), key, limits
        try:
            self.roles = {name: Role(role) for name, role in roles.items()}
        except ValueError as error:
            raise UsageError(f"{error}", fix=f"roles: {', '.join(role.value for role in Role)}") from None
        self.declared = {**UNDECLARED, **(declared or {})}
        self._judges: dict[int, RowJudge] | None = None

    @classmethod
    def from_run(cls, run: Run, *, key: str | None = None) -> Sieve:
        """All validators, with the fields and declarations of a run's plan."""
        from datascrub.registry import validators
        from datascrub.run.folder import RunFolder

        plan = RunFolder(run.path).plan().plan
        roles = {field.name: field.role.value for field in plan.fields}
        return cls([kind() for kind in validators()], roles=roles, key=key, declared=plan.declared(), limits=plan.limits)

    @property
    def not_checked(self) -> tuple[str, ...]:
        """Codes of the rules that need the whole set, and can't be asked of a stream."""
        return tuple(sorted({rule.code for v in self.validators for rule in v.rules() if isinstance(rule, SetRule)}))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_judges": None}  # compiled conditions are closures; each process compiles its own

    def __call__(self, samples: Iterable[Any], on_bad: Callable[[Rejected], object] | None = None) -> Iterator[Any]:
        """The samples without an error, one by one, as they come; on_bad is called with each of the others."""
        for sample, findings in self.pairs(samples):
            if not any(finding.severity is Severity.ERROR for finding in findings):
                yield sample
            elif on_bad is not None:
                on_bad(Rejected(sample, findings, findings[0].key))

    def pairs(self, samples: Iterable[Any]) -> Iterator[tuple[Any, tuple[Finding, ...]]]:
        """(sample, its findings) for each sample."""
        for sample in samples:
            yield sample, self.check(sample)

    def check(self, sample: Sample) -> tuple[Finding, ...]:
        """The findings on one sample."""
        key = None if self.key is None else sample.get(self.key)
        text = key if key is None or isinstance(key, str) else str(key)
        found: list[Finding] = []
        for name, role in self.roles.items():
            value = sample.get(name)
            if value is None and role is not Role.LABEL:  # of a missing label LabelRange speaks
                says = f"the sample holds no {name}"
                found.append(Finding(text, "record-field-missing", Severity.ERROR, name, says, {}))
                continue
            column = self._column(name, role, value)
            for position, validator in enumerate(self.validators):
                if role in validator.roles and (column.field.kind in validator.kinds or column.values[0] is None):
                    found += self._judge(position).findings(name, validator.measure(column), [text])
        return tuple(found)

    def _column(self, name: str, role: Role, value: Any) -> Column:
        kinds = frozenset({Kind.ENCODED if role in (Role.IMAGE, Role.MASK) else Kind.TEXT, Kind.TEXT, Kind.ARRAY})
        column = as_column(value, frozenset({role}), kinds, name)
        column.limits = self.limits
        if isinstance(column.values, list) and isinstance(column.values[0], np.ndarray):
            column.values = column.values[0][np.newaxis]
        return column

    def _judge(self, position: int) -> RowJudge:
        if self._judges is None:
            self._judges = {}
        if position not in self._judges:
            validator = self.validators[position]
            own = {name: value for name, value in validator.parameters().items() if value is not None}
            self._judges[position] = RowJudge(validator.rules(), frozenset(validator.measures), {**self.declared, **own})
        return self._judges[position]
