"""Several sources in one scan: the splits of a set, or sources that are read side by side. Each gets a run of its own, then all are held together."""

from datascrub.several.copy import clean
from datascrub.several.scan import Several, is_several, judge, open_run, scan_pairs, scan_splits

__all__ = ["Several", "clean", "is_several", "judge", "open_run", "scan_pairs", "scan_splits"]
