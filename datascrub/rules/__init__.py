"""Rules: a code, a severity, a condition, a sentence for people."""

from datascrub.rules.rule import Measurement, PartRule, RowRule, Rule, SetRule

__all__ = ["Measurement", "PartRule", "RowRule", "Rule", "SetRule"]
