"""The rules of DummyNetwork: conditions on one sample, and the question whether one stands far above the set."""

from __future__ import annotations

from datascrub.model import Severity
from datascrub.rules import RowRule, Rule, SetRule

_LAYER = ("network_layer",)

NETWORK_RULES: tuple[Rule, ...] = (
    RowRule(
        "network-loss-not-finite",
        Severity.ERROR,
        "the loss is not finite, from the {network_layer} on",
        _LAYER,
        "leave the sample out, or compute it again",
        where="network_finite == false and network_layer == 'input'",
    ),
    RowRule(
        "network-overflows",
        Severity.ERROR,
        "the values are finite, but float32 overflows: first in layer {network_layer}",
        _LAYER,
        "look for a sentinel or a wrong unit; normalise the data",
        where="network_finite == false and network_layer != 'input'",
        common="set",
    ),
    RowRule(
        "network-gradient-not-finite",
        Severity.ERROR,
        "the loss {network_loss:.4g} is finite, its gradient is not (largest number on the way: {network_peak:.4g})",
        ("network_loss", "network_peak"),
        "look for a sentinel or a wrong unit; normalise the data",
        where="network_finite == true and network_gradient_finite == false",
        common="set",
    ),
    RowRule(
        "network-overflows-half",
        Severity.WARNING,
        "the loss {network_loss:.4g} is finite in float32, not in half precision: {network_half}",
        ("network_loss", "network_half"),
        "normalise the data, or train with loss scaling in float32 or bfloat16",
        where="network_loss > precision_max or (network_compared == true and network_half is not None)",
        common="set",
    ),
)

PREPROCESS_RULES: tuple[Rule, ...] = (
    RowRule(
        "preprocess-crop-too-large",
        Severity.ERROR,
        "{preprocess_detail}",
        ("preprocess_detail",),
        "leave the sample out, or resize before the crop",
        where="preprocess_status == 'crop-too-large'",
        common="set",
    ),
    RowRule(
        "preprocess-layout-wrong",
        Severity.ERROR,
        "{preprocess_detail}",
        ("preprocess_detail",),
        "transpose the sample, or correct [preprocess] layout",
        where="preprocess_status == 'layout-wrong'",
        common="set",
    ),
    RowRule(
        "preprocess-zero-deviation",
        Severity.ERROR,
        "{preprocess_detail}",
        ("preprocess_detail",),
        "leave the sample out, or add a small number to the deviation",
        where="preprocess_status == 'zero-deviation'",
        common="set",
    ),
    RowRule(
        "preprocess-not-finite",
        Severity.ERROR,
        "finite as stored, not after preprocessing: {preprocess_detail}",
        ("preprocess_detail",),
        "find the division, the logarithm or the narrow type that does it",
        where="preprocess_status == 'not-finite'",
        common="set",
    ),
    RowRule(
        "preprocess-fails",
        Severity.ERROR,
        "{preprocess_detail}",
        ("preprocess_detail",),
        "leave the sample out, or correct the function",
        where="preprocess_status == 'fails'",
        common="set",
    ),
)

_OUTLIERS = """
    WITH logs AS (
        SELECT number, {field}.network_loss AS loss, {field}.network_step AS step, ln({field}.network_loss + 1e-9) AS log_loss,
            ln({field}.network_step) AS log_step
        FROM facts WHERE {field}.network_loss IS NOT NULL
    ), middle AS (
        SELECT median(log_loss) AS mid_loss, greatest(1.4826 * mad(log_loss), $least_spread) AS loss_spread,
            median(log_step) AS mid_step, greatest(1.4826 * mad(log_step), $least_spread) AS step_spread
        FROM logs
    ), far AS (
        SELECT number, loss, step, exp(mid_loss) AS median_loss, exp(mid_step) AS median_step, (log_loss - mid_loss) / loss_spread AS loss_deviations,
            CASE WHEN mid_step >= 0 THEN (log_step - mid_step) / step_spread END AS step_deviations
        FROM logs, middle
    )
    SELECT *, greatest(loss_deviations, step_deviations) AS deviations FROM far
    WHERE greatest(loss_deviations, step_deviations) > $deviations
    QUALIFY count(*) OVER () <= 0.01 * (SELECT count(*) FROM logs) ORDER BY number"""

OUTLIER_RULES: tuple[Rule, ...] = (
    SetRule(
        "network-loss-outlier",
        Severity.WARNING,
        "{deviations:.0f} deviations above the set: loss {loss:.4g} (median {median_loss:.4g}), pixel steps {step} (median {median_step})",
        fix="look at the sample: a QR code, a screenshot, noise, a wrong unit?",
        sql=_OUTLIERS,
        scope="sample",
        needs=("network_loss", "network_step"),
        minimum=100,
    ),
)
