"""The released values of a round, how its record is kept and written, and rounds as a table.

Code by code, or as bits where there are many attributes of two codes.

The record of a round over half a million binary attributes takes 64 kB in memory and less than 90 kB in the transcript.
"""

from __future__ import annotations

import base64
import binascii
import json
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
    """Return the record that the transcript holds, in any of its forms, spelled as they are written."""
    misfit = TranscriptError("the record on file does not fit the schema, or is damaged")
    try:
        if isinstance(written, Mapping):
            bits, again = _bits(written, len(sizes))
            codes = codes_of(bits)
        else:
            codes = np.array(written, dtype=np.int32)
            bits, again = None, codes.tolist()
    except (binascii.Error, LookupError, OverflowError, TypeError, ValueError) as error:
        raise misfit from error
    fits = codes.shape == (len(sizes),) and not (codes < 0).any() and not (codes >= sizes).any()
    if not fits or json.dumps(again, sort_keys=True) != json.dumps(written, sort_keys=True):
        raise misfit
    return bits if bits is not None and are_kept_as_bits(sizes) else kept(freeze(codes), sizes)


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


def _bits(written: Mapping[str, Any], width: int) -> tuple[BitRecords, dict[str, Any]]:
    """Return the record of an object with columns and ones, or columns and bits, and how that would be written."""
    if "ones" in written:
        codes = np.zeros(width, dtype=np.uint8)
        codes[np.array(written["ones"], dtype=np.int64)] = 1
        return BitRecords.of(codes[None]), {"columns": width, "ones": np.flatnonzero(codes).tolist()}
    codes = np.unpackbits(np.frombuffer(base64.b64decode(written["bits"]), dtype=np.uint8), count=width)
    record = BitRecords.of(codes[None])
    return record, {"columns": width, "bits": base64.b64encode(record.octets[0].tobytes()).decode("ascii")}


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
