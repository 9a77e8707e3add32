"""Readers: one file per container; recognising, reading and the cleaned copy of a container live together."""

from datascrub.readers.base import CopyOptions, CopyReport, Reader, Survey

__all__ = ["CopyOptions", "CopyReport", "Reader", "Survey"]
