"""The three kinds of rules, and the measurements that they judge."""

from __future__ import annotations

from dataclasses import dataclass

from datascrub.model import Severity


@dataclass(frozen=True)
class Measurement:
    """One column of the facts.

    type: a DuckDB type: BOOLEAN, BIGINT, DOUBLE, VARCHAR, or a list of one of these (BIGINT[]).
    unit, range: words for people ("pixels", ">= 0"); says: one sentence.
    """

    type: str
    says: str
    unit: str = ""
    range: str = ""


@dataclass(frozen=True)
class Rule:
    """What all rules share.

    code: the fault in words joined by hyphens; once released, never reused and never changed in meaning.
    says: the sentence of a finding, a format string over the measurements and parameters ("{nan_count:,} NaN among {size:,} values").
    evidence: names of the measurements that a finding carries along.
    fix: what a person can do.
    """

    code: str
    severity: Severity
    says: str
    evidence: tuple[str, ...] = ()
    fix: str = ""


@dataclass(frozen=True)
class RowRule(Rule):
    """A condition on the measurements of one sample.

    where: an expression over the measurements of one field, the parameters of the validator and what the plan declares (see rules.expression).
    common: what it becomes when it fires on more than common_share of the samples that were measured (and on three at least): "sample" (named one
        by one, as damage is) or "set" (one finding of the set, nothing goes to quarantine).
    unless: code of a set rule that explains it: where that one speaks of the same field, this one is silent.
    rare: the severity that it takes when at most 1 % of the set has it, or a single sample of ten and more; None leaves the severity as it is.
    """

    where: str = "false"
    common: str = "sample"
    common_share: float = 0.5
    rare: Severity | None = None
    unless: str = ""


@dataclass(frozen=True)
class SetRule(Rule):
    """A question to the whole set, in SQL.

    sql: a SELECT over the view facts, in which {field} stands for the quoted struct of the field that the rule is bound to, {label}, {image} and
        {mask} for those of the set's only field of that role, {repeats} for a table (number, hash) of the samples whose whole content stands more
        than once (such a rule is asked of the first field alone), {is_alone} for whether this field alone makes it up, and $name for a parameter of
        the validator or a declared value. For scope "sample" it returns the column number (the sample's; NULL for a finding of the set), and may
        return severity and key (the name of the finding, where that is another than the sample's); all other columns are evidence. For scope "set"
        each row that it returns is one finding; no row, no finding.
    needs: measurements that it reads; minimum: smallest number of samples for which the question makes sense.
    """

    sql: str = ""
    scope: str = "set"
    needs: tuple[str, ...] = ()
    minimum: int = 0


@dataclass(frozen=True)
class AcrossRule(Rule):
    """A question to several sources at once, in SQL; a scan of one source does not ask it (see datascrub.several).

    sql: a SELECT over the view facts of all sources, which has the column split, the source's name, beside those that a SetRule reads. For scope
        "sample" it returns number, for scope "set" each row is one finding; it may return severity; all other columns are evidence.
    """

    sql: str = ""
    scope: str = "sample"


@dataclass(frozen=True)
class PartRule(Rule):
    """Names a kind of Part; the reader that met the part wrote its sentence, so `says` only describes the kind."""
