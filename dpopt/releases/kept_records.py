"""The released values of a round, how its record is kept and written, and rounds as a table.

Code by code, or as bits where there are many attributes of two codes.

The record of a round over half a million binary attributes takes 64 kB in memory and less than 90 kB in the transcript.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze, frozen
from dpopt.errors import TranscriptError
from dpopt.programs.certificate import Certificate
from dpopt.queries.counting.binary_columns import BitRecords, are_kept_as_bits, octets_for
from dpopt.transcript.journal import Entry
from dpopt.transcript.released import SampledQueries

KeptRecord: TypeAlias = NDArray[np.int32] | BitRecords
"""One record: its codes (d,), or one row of bits."""


def kept(record: NDArray[np.int32], sizes: NDArray[np.integer]) -> KeptRecord:
    """Return a record of existing codes, (d,), as it is kept for attributes of these sizes (d,)."""
    return BitRecords.of(record[None, :]) if are_kept_as_bits(sizes) else frozen(record, np.int32)


def codes_of(record: KeptRecord) -> NDArray[np.int32]:
    """Return the codes of a record, (d,), read-only."""
    return record.codes()[0] if isinstance(record, BitRecords) else record


def record_to_json(record: KeptRecord) -> object:
    """Return a record for the transcript.

    A list of codes; for a record of bits, an object with the number of `columns` and either the `ones`, as increasing
    numbers of attributes, or the `bits`, as octets in base 64: whichever is shorter.
    """
    if not isinstance(record, BitRecords):
        return record.tolist()
    ones = np.flatnonzero(np.unpackbits(record.octets[0], count=record.width))
    # Digits and commas: between these numbers and the next power of ten lie as many numbers of one more digit.
    powers = 10 ** np.arange(1, 10, dtype=np.int64)
    length = 2 * ones.size + int((ones.size - np.searchsorted(ones, powers)).sum())
    if length < 4 * -(-octets_for(record.width) // 3) + 2:  # two marks around the text, one bracket more than commas
        return {"columns": record.width, "ones": ones.tolist()}
    return {"columns": record.width, "bits": base64.b64encode(record.octets[0].tobytes()).decode("ascii")}


def record_from_json(written: object, sizes: NDArray[np.integer]) -> KeptRecord:
    """Return the record that the transcript holds, in any of its forms."""
    if isinstance(written, Mapping):
        bits = _bits(written, len(sizes))
        if (bits.octets[0] & np.packbits(np.asarray(sizes) < 2)).any():
            raise TranscriptError("the record on file does not fit the schema")
        return bits if are_kept_as_bits(sizes) else kept(codes_of(bits), sizes)
    if not isinstance(written, list) or not all(type(code) is int for code in written):
        raise TranscriptError("the record on file is damaged: it is no list of whole numbers")
    if len(written) != len(sizes):
        raise TranscriptError("the record on file does not fit the schema")
    try:
        record = np.array(written, dtype=np.int32)
    except OverflowError as error:
        raise TranscriptError("the record on file is damaged: a code is too large") from error
    if (record < 0).any() or (record >= sizes).any():
        raise TranscriptError("the record on file does not fit the schema")
    return kept(freeze(record), sizes)


def records_to_json(records: NDArray[np.int32] | BitRecords) -> list[object]:
    """Return records (r, d) for the transcript: lists of codes, or bits as `record_to_json` writes them."""
    if not isinstance(records, BitRecords):
        return list(records.tolist())
    return [record_to_json(records.take(np.array([row]))) for row in range(len(records))]


def bit_records_from_json(written: object, sizes: NDArray[np.integer]) -> BitRecords:
    """Return records that are kept as bits from the transcript."""
    if not isinstance(written, list) or not written:
        raise TranscriptError("the records on file are damaged: expected a list of at least one record")
    records = [record_from_json(record, sizes) for record in written]
    return BitRecords.joined([one for one in records if isinstance(one, BitRecords)])


def _bits(written: Mapping[str, object], width: int) -> BitRecords:
    """Return the record of an object with columns and ones, or columns and bits."""
    columns, ones, bits = written.get("columns"), written.get("ones"), written.get("bits")
    if set(written) not in ({"columns", "ones"}, {"columns", "bits"}) or type(columns) is not int:
        raise TranscriptError("the record on file is damaged: expected its columns, and its ones or its bits")
    if columns != width:
        raise TranscriptError("the record on file does not fit the schema")
    if isinstance(ones, list) and all(type(place) is int for place in ones):
        if any(not 0 <= place < columns for place in ones):
            raise TranscriptError(f"the record on file is damaged: its ones lie outside 0 .. {columns - 1}")
        places = np.array(ones, dtype=np.int64)
        if (np.diff(places) <= 0).any():
            raise TranscriptError("the record on file is damaged: its ones do not increase")
        codes = np.zeros((1, columns), dtype=np.uint8)
        codes[0, places] = 1
        return BitRecords.of(codes)
    if not isinstance(bits, str):
        raise TranscriptError("the record on file is damaged: its bits are no text, or its ones no whole numbers")
    try:
        octets = base64.b64decode(bits.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise TranscriptError("the record on file is damaged: its bits are not in base 64") from error
    stray = 8 * len(octets) - columns
    if not 0 <= stray < 8 or octets[-1] & ((1 << stray) - 1) or base64.b64encode(octets).decode("ascii") != bits:
        raise TranscriptError(f"the record on file is damaged: its bits are not those of {columns} columns")
    return BitRecords(columns, np.frombuffer(octets, dtype=np.uint8)[None, :])


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """The released values of one round, held as long as the run lasts.

    It takes 16 bytes for each distinct query of the draw, and the record 4 bytes an attribute, or one bit.
    """

    sampled: SampledQueries
    """The drawn queries."""
    kept: KeptRecord
    """The synthetic record: its codes, or its bits where there are many attributes of two codes."""
    certificate: Certificate
    """Its value, recomputed exactly from the drawn queries and the record."""
    stopped: str
    """Why the solver stopped."""
    fallback: str | None
    """Why the public fallback rule was used, or None if the solver gave the record."""
    solver: str
    """Name and version of the solver that made the record: the fallback where it answered, or "settled by presolve"."""
    solve_seconds: float | None = None
    """How long it took, for the owner's log; None for a round read from file. Never written to a release."""

    @property
    def record(self) -> NDArray[np.int32]:
        """The synthetic record, (d,) codes, read-only: the next round hands it to a solver as its hint."""
        return codes_of(self.kept)

    def to_json(self) -> Entry:
        """Return the record as a journal entry."""
        return {
            "kind": "record",
            "round": self.sampled.round,
            "record": record_to_json(self.kept),
            "objective": self.certificate.objective,
            "bound": self.certificate.bound,
            "stopped": self.stopped,
            "fallback": self.fallback,
            "solver": self.solver,
        }


COLUMNS = dict.fromkeys(("round", "draws", "value", "proven_bound", "reported_bound", "gap"), "Int64")
COLUMNS |= {"seconds": "float64", **dict.fromkeys(("solver", "answered_by", "stopped", "fallback"), "object")}
"""Columns of the table, and their types."""


def round_rows(rounds: Sequence[Round], solver: str, bounds: Mapping[int, Any] | None = None) -> list[dict[str, Any]]:
    """Return a row for each round; `bounds` are `CertifiedRound`s by number, `solver` is the one that the plan names."""
    return [_row(one, solver, (bounds or {}).get(one.sampled.round)) for one in rounds]


def _row(played: Round, solver: str, later: Any | None) -> dict[str, Any]:
    found = played.certificate
    proven, stated = found.proven_bound if later is None else later.proven_bound, found.reported_bound
    reported = min((one for one in (stated, later and later.reported_bound) if one is not None), default=None)
    bound = min(one for one in (proven, reported) if one is not None)
    return {
        "round": played.sampled.round,
        "draws": played.sampled.charge.count,
        "value": found.objective,
        "proven_bound": proven,
        "reported_bound": reported,
        "gap": bound - (found.objective or 0),
        "seconds": played.solve_seconds if later is None else later.seconds,
        "solver": solver,
        "answered_by": played.solver,
        "stopped": played.stopped,
        "fallback": played.fallback,
    }
