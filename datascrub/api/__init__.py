"""The library: scan, judge, clean, look. The command line is a thin twin of these calls."""

from datascrub.api.cleaning import MAX_QUARANTINE, check_destination, clean
from datascrub.api.looking import look
from datascrub.api.runs import Run, default_run_folder, judge
from datascrub.api.scanning import scan, selftest, survey
from datascrub.api.watcher import Watcher
from datascrub.engines.processes import preload

__all__ = ["MAX_QUARANTINE", "Run", "Watcher", "check_destination", "clean", "default_run_folder", "judge", "look", "scan", "selftest", "survey"]

preload("datascrub.spine.preload")
