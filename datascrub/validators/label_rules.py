"""The rules of LabelRange: conditions on one label, and questions to all labels of the set."""

from __future__ import annotations

from datascrub.model import Severity
from datascrub.rules import RowRule, Rule, SetRule

_CLASSIFIES = "task == 'classification' and is_integral == true and number not in ignore_labels"

ROW_RULES: tuple[Rule, ...] = (
    RowRule(
        "label-missing",
        Severity.ERROR,
        "no label, where the set has labels",
        fix="write the label, or leave the sample out",
        where="kind == 'missing'",
        common="set",
        unless="label-zero-unwritten",
    ),
    RowRule(
        "label-outside-classes",
        Severity.WARNING,
        "stands outside the class folders, and has no label",
        fix="move the picture into its class, or away: most loaders pass it over without a word",
        where="kind == 'outside'",
        common="set",
    ),
    RowRule(
        "label-not-finite",
        Severity.ERROR,
        "the label holds NaN or an infinity (its size: {size:,})",
        ("size",),
        "write the label again, or leave the sample out",
        where="is_finite == false",
    ),
    RowRule(
        "label-not-integral",
        Severity.ERROR,
        "label {number:g} is no whole number",
        ("number",),
        "correct the label; if the targets are real numbers, declare task = 'regression'",
        where="task == 'classification' and is_integral == false",
        common="set",
    ),
    RowRule(
        "label-out-of-range",
        Severity.ERROR,
        "label {number:.0f} with {classes} classes (counted from 0)",
        ("value",),
        "correct the label or the declared classes, or declare it in ignore_labels",
        where=f"{_CLASSIFIES} and (number < 0 or number > classes)",
        common="set",
    ),
    RowRule(
        "label-out-of-range",
        Severity.ERROR,
        "label {number:.0f} with {classes} classes (counted from 0)",
        ("value",),
        "correct the label or the declared classes, or declare it in ignore_labels",
        where=f"{_CLASSIFIES} and number == classes",
        common="set",
        unless="label-one-based",
    ),
    RowRule(
        "label-negative",
        Severity.WARNING,
        "label {number:.0f} is negative",
        ("value",),
        "correct the label, or declare it in ignore_labels if it marks what should be skipped",
        where=f"{_CLASSIFIES} and number < 0",
        common="set",
    ),
    RowRule(
        "label-unknown-class",
        Severity.ERROR,
        "no declared class is called {text!r}",
        ("text",),
        "correct the label, or add it to the declared classes",
        where="kind == 'text' and text not in class_names",
        common="set",
    ),
)

# The integral labels that are not ignored, and how often each stands; empty where the set is no classification.
_VALUES = """
    WITH counted AS (
        SELECT {field}.value AS value, count(*) AS samples FROM facts
        WHERE $task = 'classification' AND {field}.value IS NOT NULL AND NOT list_contains(CAST($ignore_labels AS BIGINT[]), {field}.value)
        GROUP BY ALL
    ), span AS (
        SELECT min(value) AS lowest, max(value) AS highest, count(*) AS present, sum(samples)::BIGINT AS total, CAST($classes AS BIGINT) AS classes,
            coalesce(sum(samples) FILTER (value BETWEEN 0 AND $classes), 0) AS known, coalesce(sum(samples) FILTER (value = 0), 0) AS zeros,
            coalesce(sum(samples) FILTER (value = $classes), 0) AS beyond
        FROM counted
    ), shape AS (
        SELECT *, CASE WHEN classes IS NULL THEN lowest = 1 AND present = highest AND total >= 2 * present
            ELSE total - known <= greatest(1, total // 20) AND zeros * classes * 20 <= total AND beyond * classes * 5 >= total
            END AND present >= 2 AS is_one_based
        FROM span
    )"""
# One-based, where classes are declared: the number behind the last class is as common as a class is (a fifth of an even share, at least), 0 is not
# (a twentieth of one, at most), and few labels (a twentieth, or one) are of neither kind: these few are wrong whatever the base is.
# Without declared classes, 1 .. k without a hole, each twice on average: a list of numbers 1, 2, 3, … is an id and no label.

_ONE_BASED = f"""{_VALUES}
    SELECT 1 AS lowest, coalesce(classes, highest) AS highest, total AS samples, CASE WHEN classes IS NULL THEN 'warning' ELSE 'error' END AS severity
    FROM shape WHERE is_one_based"""

_UNWRITTEN = f"""{_VALUES}, missing AS (SELECT count(*) AS samples, arg_min(key, number) AS first_key FROM facts WHERE {{field}}.kind = 'missing')
    SELECT missing.samples AS samples, first_key, highest FROM missing, span
    WHERE lowest = 1 AND missing.samples >= 2 AND missing.samples * present * 5 >= total"""
# As many without a label as a class has samples (a fifth of it, at least), and no 0 anywhere: protobuf leaves out a field that holds its default.

_ABSENT = f"""{_VALUES}, expected AS (
        SELECT unnest(range(0, CASE
            WHEN classes IS NOT NULL AND total >= 3 * classes AND NOT is_one_based THEN classes
            WHEN classes IS NULL AND lowest = 0 AND present >= 2 AND total >= 3 * (highest + 1)
                AND highest + 1 - present <= greatest(1, highest // 10) THEN highest + 1
            ELSE 0 END)) AS value
        FROM shape
    ), names AS (
        SELECT unnest(CAST($class_names AS VARCHAR[])) AS text
    ), texts AS (
        SELECT {{field}}.text AS text, count(*) AS samples FROM facts WHERE {{field}}.text IS NOT NULL GROUP BY ALL
    ), missing AS (
        SELECT value::VARCHAR AS label, value AS place FROM expected ANTI JOIN counted USING (value)
        UNION ALL
        SELECT text, 0 FROM names ANTI JOIN texts USING (text) WHERE (SELECT sum(samples) FROM texts) >= 3 * (SELECT count(*) FROM names)
    ), declared AS (
        SELECT greatest((SELECT count(*) FROM expected), (SELECT count(*) FROM names)) AS of
    )
    SELECT count(*) AS absent, array_to_string(list(label ORDER BY place, label)[1:20], ', ') AS first, any_value(of) AS of
    FROM missing, declared HAVING count(*) > 0 AND count(*) < any_value(of)"""
# Three samples a class before an absence says anything; undeclared, only a rare hole (a tenth of the range, or one) is an absent class.

_RARE = f"""{_VALUES}, rare AS (
        SELECT value, samples FROM counted, span WHERE present >= 2 AND total >= 20 * present AND 20 * samples * present < total
    )
    SELECT count(*) AS rare, string_agg(value::VARCHAR, ', ' ORDER BY samples, value) AS labels, min(samples) AS samples, any_value(total) AS of
    FROM (SELECT * FROM rare ORDER BY samples, value LIMIT 20), span HAVING count(*) > 0"""
# Less than a twentieth of an even share, where an even share is twenty samples and more.

_OUTSIDE = f"""{_VALUES}, ordered AS (
        SELECT value, lag(value) OVER (ORDER BY value) AS before, lowest, present, total,
            total - sum(samples) OVER (ORDER BY value) + samples AS from_here
        FROM counted, span WHERE classes IS NULL
    ), cut AS (
        SELECT min(value) AS beyond, min(before) AS highest, min(lowest) AS lowest FROM ordered
        WHERE total >= 20 AND total >= 5 * present AND value - before > greatest(10, before - lowest + 1) AND from_here <= greatest(1, total // 1000)
    )
    SELECT number, {{field}}.value AS value, lowest, highest FROM facts, cut WHERE {{field}}.value >= beyond ORDER BY number"""
# Farther from the others than these from each other, and one sample or a thousandth of a set whose labels stand five times each.

SET_RULES: tuple[Rule, ...] = (
    SetRule(
        "label-one-based",
        Severity.WARNING,
        "labels run from {lowest} to {highest}: they seem to be counted from 1 ({samples:,} samples)",
        fix="subtract one, or declare one class more if 0 is the background",
        sql=_ONE_BASED,
        needs=("value",),
        minimum=4,
    ),
    SetRule(
        "label-zero-unwritten",
        Severity.WARNING,
        "{samples:,} samples have no label (the first is {first_key}), the others run from 1 to {highest}: the writer seems to have left 0 out",
        fix="nothing, if your reader takes a missing label for 0, as protobuf does; else write the labels again",
        sql=_UNWRITTEN,
        needs=("kind", "value"),
        minimum=4,
    ),
    SetRule(
        "label-class-absent",
        Severity.WARNING,
        "without a sample: {absent:,} of {of:,} classes ({first})",
        fix="find the samples of these classes, or number the others anew",
        sql=_ABSENT,
        needs=("value",),
        minimum=6,
    ),
    SetRule(
        "label-class-rare",
        Severity.INFO,
        "rare among {of:,} samples: class {labels} (the rarest with {samples:,})",
        fix="weigh the classes, sample them evenly, or collect more: many batches hold none of them",
        sql=_RARE,
        needs=("value",),
        minimum=40,
    ),
    SetRule(
        "label-outside-evident-range",
        Severity.WARNING,
        "label {value} lies far from all others ({lowest} to {highest})",
        fix="correct the label, or declare classes or ignore_labels",
        sql=_OUTSIDE,
        scope="sample",
        needs=("value",),
        minimum=20,
    ),
)
