"""The journal: an append-only file of charge, draw and record, safe against kills, torn lines and full disks.

Each line is ``{"crc":"xxxxxxxx","entry":{...}}`` with the CRC-32 of the entry's text. A line goes to the operating
system in one write; `append` waits until it is on the disk, unless its caller leaves that to a later line.

A torn last line is what a power cut or a full disk leaves. Reading reports it and never repairs it silently: whoever
resumes must treat the draw that it may hold as seen (see `dpopt.algorithms.dualquery.algorithm`).
"""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from dpopt.errors import ReleaseFolderError, TranscriptError
from dpopt.files.json_files import parse_json
from dpopt.files.reading import open_file
from dpopt.files.written_files import PUBLIC
from dpopt.transcript.continued_file import ContinuedFile

Entry = dict[str, Any]
_LONGEST_LINE, _MOST_BYTES = 2**30, 2**34
_BEGINNING = b'{"crc":"'


class Journal(Protocol):
    """The file to which the curator and the driver write each step, before anyone else sees it."""

    def append(self, entry: Entry, *, wait: bool = True) -> None:
        """Add an entry; when `wait` is true, return only after it is safe against a power cut."""
        ...


class MemoryJournal:
    """A journal in memory, for runs without a folder; its entries stay empty where it does not keep them."""

    def __init__(self, *, keep: bool = True) -> None:
        self.entries: list[Entry] = []
        self._keep = keep

    def append(self, entry: Entry, *, wait: bool = True) -> None:
        """Add an entry."""
        if self._keep:
            self.entries.append(json.loads(_text(entry)))


class FileJournal:
    """A journal on file, locked against a second writer: two of them could make one draw twice."""

    def __init__(self, path: Path, file: ContinuedFile | None = None) -> None:
        """Make a new journal, and put its name on the disk; or take one that `reopen` opened.

        Raises ReleaseFolderError if there is such a file already, or it cannot be made.
        """
        self.path = path.absolute()  # a later change of the working directory does not lead elsewhere
        self._broken = False
        self._file = _opened(path, mode=PUBLIC) if file is None else file

    @classmethod
    def reopen(cls, path: Path) -> tuple[FileJournal, JournalContents]:
        """Open the journal of an earlier run and return its content.

        A torn last line is replaced by the entry ``{"kind": "torn"}``; until all of that is there the line stays torn,
        so that a second interruption cannot make anyone forget that a draw may have been seen.

        Raises ReleaseFolderError if it cannot be written, or another process writes it; TranscriptError if it is
        missing, or a line other than the last one is damaged.
        """
        if not path.exists():
            raise TranscriptError(
                f"there is no {path.name} to continue. Restore the file; if the run never drew anything, start it again"
            )
        file = _opened(path)
        try:
            contents = _contents(file.stream(), path.name)
            if contents.torn:
                mark: Entry = {"kind": "torn"}
                file.write(line_of(mark), at=contents.length)
                length = contents.length + len(line_of(mark))
                contents = JournalContents([*contents.entries, mark], length, torn=False)
            return cls(path, file), contents
        except OSError as error:
            file.close()
            raise _refusal(path, error) from error
        except BaseException:
            file.close()
            raise

    def append(self, entry: Entry, *, wait: bool = True) -> None:
        """Add an entry in one write; when `wait` is true, return only after it is on the disk.

        After a failure nothing more is written: a line behind a torn one could not be read again.

        Raises ReleaseFolderError if the entry cannot be written, or an earlier one could not.
        """
        line = line_of(entry)
        if self._broken:
            raise ReleaseFolderError(f"{self.path.name} could not be written before; continue with 'dpopt resume'")
        self._broken = True
        try:
            self._file.write(line, wait=wait)
        except OSError as error:
            raise ReleaseFolderError(
                f"cannot write {self.path.name}: {error.strerror}. What was drawn so far is kept; make room and "
                f"continue with 'dpopt resume', or 'dpopt prefixes grow' if prefixes are in it"
            ) from error
        self._broken = False

    def close(self) -> None:
        """Put everything on the disk and close the file; does nothing where it is closed."""
        self._file.close()


def _opened(path: Path, *, mode: int | None = None) -> ContinuedFile:
    """Open and lock a journal, or refuse it."""
    try:
        return ContinuedFile(path, mode=mode)
    except BlockingIOError:
        raise ReleaseFolderError(
            f"another process is writing {path.name}. Wait until it ends, or stop it, then resume"
        ) from None
    except FileExistsError:
        raise ReleaseFolderError(
            f"{path} exists already, and may hold a release that was paid for; choose another name"
        ) from None
    except OSError as error:
        raise _refusal(path, error) from error


def _refusal(path: Path, error: OSError) -> ReleaseFolderError:
    return ReleaseFolderError(f"cannot write {path.name}: {error.strerror}")


@dataclass(frozen=True, slots=True)
class JournalContents:
    """The content of a journal file."""

    entries: list[Entry]
    """The whole entries, in order."""
    length: int
    """Bytes that they take."""
    torn: bool
    """Whether a part of a further line follows them."""


def begins_as_journal(path: str | os.PathLike[str]) -> bool:
    """Return whether a file that can be read begins as each journal does."""
    with suppress(OSError, ValueError), open_file(path) as file:
        return file.read(len(_BEGINNING)) == _BEGINNING
    return False


def read_journal(path: Path) -> JournalContents:
    """Return the whole entries of a journal and whether its last line is torn.

    Raises TranscriptError if the file is missing, or a line other than the last one is damaged.
    """
    try:
        with open_file(path) as file:
            return _contents(file, path.name)
    except OSError as error:
        raise TranscriptError(f"cannot read the transcript {path.name}: {error.strerror}") from error


def _contents(file: IO[bytes], name: str) -> JournalContents:
    entries: list[Entry] = []
    length = 0
    while line := file.readline(_LONGEST_LINE):
        entry = entry_of(line)
        if entry is None:
            if not file.read(1):
                if entries or line.startswith(_BEGINNING[: len(line)]):
                    return JournalContents(entries, length, torn=True)
                raise TranscriptError(f"{name} is another file than a run writes; nothing was changed in it")
            raise TranscriptError(
                f"line {len(entries) + 1} of {name} is damaged (its checksum does not match). "
                "Restore the file from a copy; a run with a damaged transcript cannot be resumed or replayed"
            )
        entries.append(entry)
        length += len(line)
        if length > _MOST_BYTES:
            raise TranscriptError(f"{name} has more than {_MOST_BYTES:,} bytes, which no transcript has")
    return JournalContents(entries, length, torn=False)


def _text(entry: Entry) -> str:
    return json.dumps(entry, separators=(",", ":"), sort_keys=True, ensure_ascii=True, allow_nan=False)


def line_of(entry: Entry) -> bytes:
    """Return the line of an entry, with its checksum and its end."""
    text = _text(entry)
    return f'{{"crc":"{zlib.crc32(text.encode()):08x}","entry":{text}}}\n'.encode()


def entry_of(line: bytes) -> Entry | None:
    """Return the entry of a line, None if it is not the line of an entry to its newline."""
    try:
        outer: Any = parse_json(line.decode("ascii"), "the line", TranscriptError)
        entry = outer["entry"]
        return entry if isinstance(entry, dict) and line_of(entry) == line else None
    except (ValueError, LookupError, TypeError):
        return None
