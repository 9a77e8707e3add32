"""Record layouts: what the bytes of a record mean. One file per layout."""

from datascrub.layouts.base import Fit, Layout, Record

__all__ = ["Fit", "Layout", "Record"]
