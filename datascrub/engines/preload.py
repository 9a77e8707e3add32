"""Imported once by the server that children are forked from, so that each child starts in milliseconds. Starts no thread, opens no file."""

import duckdb  # noqa: F401  its import is most of a child's start
import numpy  # noqa: F401  likewise
