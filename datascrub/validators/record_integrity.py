"""Records that are damaged, incomplete or of another make than the set, and places in the source that are no samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, PartRule, RowRule, Rule
from datascrub.validators.base import Validator

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO

_SAMPLES: Mapping[str, tuple[Severity, str]] = {
    "record-empty": (_E, "write the record again, or leave it out: there is nothing in it"),
    "record-truncated": (_E, "fetch or write the record again: it ends before its data do"),
    "record-checksum-mismatch": (_E, "fetch the file again: bytes have changed since they were written"),
    "record-unparsable": (_E, "write the record again: its bytes are not what the other records of the set are"),
    "record-size-mismatch": (_E, "find out whether the shape or the data are wrong, and write the record again"),
    "record-field-missing": (_E, "write the record again with the field that the others have"),
    "record-field-kind": (_E, "write the field in the type that the others have: a parser with a fixed schema refuses this record"),
    "record-companion-missing": (_E, "write the missing half of the pair, or remove this one"),
    "record-too-large": (_E, "raise [limits] max_record_bytes if such a record is meant"),
    "record-unreadable": (_E, "give the scan permission to read it, or check the disk, and scan again"),
    "record-unsupported": (_W, "install the plugin that the message names, or convert the data"),
    "record-pickled": (_E, "convert the set: a pickle can run any program when it is loaded, so it is never loaded here"),
    "sample-kills-decoder": (_E, "leave the sample out: it would end the process that trains"),
    "sample-not-checked": (_E, "look at the sample; where the message names a validator of your own, at that"),
    "sample-times-out": (_E, "leave the sample out, or raise [limits] sample_s if it is meant to take long"),
}
_PARTS: Mapping[str, tuple[Severity, str, str]] = {
    "part-damaged": (_E, "bytes of this region are damaged; the records in it are lost", "fetch the file again"),
    "part-kills-reader": (_E, "every way to read on from here ended the process", "fetch the file again; look at it with the container's own tools"),
    "part-truncated": (_E, "the file ends too early", "fetch the file again"),
    "part-unreadable": (_E, "the bytes of this place could not be had", "give the scan permission to read it, or check the disk"),
    "part-not-recognised": (_E, "a file among the data that is not of their container", "fetch the file again, or move it out of the source"),
    "part-unsupported": (_W, "this place needs a plugin or a type that can't be read here", "install the plugin that the message names"),
    "part-empty": (_W, "an empty file of the set", "write the file again, or remove it"),
    "part-trailing-bytes": (_W, "bytes behind the last record", "fetch the file again if they were meant to be records"),
    "part-name-mismatch": (_I, "the name says another coding than the content", "rename the file: a loader that goes by the name fails"),
    "part-count-mismatch": (_E, "a declared count differs from the records that are there", "correct the count, or find the lost records"),
    "part-record-missing": (_E, "a record that should exist does not", "write the missing record, or number the others anew"),
    "part-too-large": (_E, "claims more than the limits, or than its file can hold", "fetch or write the file again"),
    "part-link-broken": (_E, "a link to what is not there", "restore the target, or remove the link"),
    "part-axis-mismatch": (_E, "first axes of unequal length: samples and labels do not pair up", "write all fields with one row a sample"),
    "part-hidden": (_I, "hidden files are left aside", "nothing, unless data were meant"),
    "part-not-a-sample": (_I, "files or records that are no samples are left aside", "nothing, unless data were meant"),
    "part-layout-unknown": (_E, "what these records mean is not known here", "declare the layout, or convert the set"),
    "part-duplicate-key": (_W, "one key stands more than once", "keep one record a key: loaders differ in which one they take"),
    "part-stale-index": (_W, "an index does not fit the records", "build the index anew"),
    "part-class-missing": (_W, "classes of one split that another lacks", "make the class folders of all splits alike, empty ones too"),
    "part-not-finite": (_E, "numbers beside the samples are not finite", "compute them again: whatever uses them spreads the NaN"),
}


@dataclass(frozen=True)
class RecordIntegrity(Validator):
    """A record that is not whole, or not what the records of its set are.

    What it finds
        What the reader of the container met before any value was looked at. Of a record (record-…): no bytes, too few bytes, a stored CRC that
        does not fit, bytes that do not parse, a size that does not fit the declared shape, a field missing or of another type, a half of a pair
        missing, a size over the limits, bytes that could not be had, a missing plugin, a pickle. Of a sample (sample-…): its decoding ended or held
        up the process, or a check failed on it, so that nobody can call it good. Of a place that is no sample (part-…): a damaged region, a file cut
        short, a count that is wrong, and what was left aside.

    Why it breaks training
        A loader stops in mid-epoch, or worse, goes on: TensorFlow ends a file at the first bad length, LevelDB ends early without a word, a
        truncated HDF5 file reads as zeros. What is then trained on is less, or other, than what you believe.

    Example
        train.tfrecord#12  record-checksum-mismatch  the payload's CRC32C is 0x1f3a99c0, stored is 0x77e20b14

    What to do
        Fetch or write the record again. If it is gone, the cleaned copy leaves it out. record-unreadable is different: nobody knows whether such a
        record is damaged, its bytes could not be had (permission, I/O). It counts as unreadable in the account, not as quarantined, and a cleaned
        copy is refused while there are any, unless you pass --drop-unreadable.

    Parameters and facts
        No parameters; limits stand in [limits]. Facts, under "record": problem (the code, NULL where all is well), detail (the sentence), size_bytes
        (the record as stored).
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.RECORD})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.NOTE})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "problem": Measurement("VARCHAR", "code of what was wrong with the record; NULL where nothing was"),
        "detail": Measurement("VARCHAR", "what was wrong, with the numbers in it"),
        "size_bytes": Measurement("BIGINT", "size of the record as stored", "bytes", ">= 0"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for row, problem in enumerate(column.values):
            if problem is not None:
                made["problem"][row], made["detail"][row] = problem.code, problem.detail
        sizes = column.declared.get("size_bytes")
        if sizes is not None:
            made["size_bytes"] = np.asarray(sizes, np.int64)
        return made

    def rules(self) -> Sequence[Rule]:
        samples = [
            RowRule(code, severity, "{detail}", ("size_bytes",), fix, where=f"problem == '{code}'") for code, (severity, fix) in _SAMPLES.items()
        ]
        return [*samples, *(PartRule(code, severity, says, (), fix) for code, (severity, says, fix) in _PARTS.items())]
