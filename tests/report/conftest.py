"""Small data sets for tests of reports: those of the spine's tests."""

from tests.spine.conftest import make_set

__all__ = ["make_set"]
