"""Rules: a code, a severity, a condition, a sentence for people."""

from datascrub.rules.rule import AcrossRule, Measurement, PartRule, RowRule, Rule, SetRule

__all__ = ["AcrossRule", "Measurement", "PartRule", "RowRule", "Rule", "SetRule"]
