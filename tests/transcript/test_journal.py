from __future__ import annotations

import errno
import json
import math
import multiprocessing
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import ReleaseFolderError, TranscriptError
from dpopt.machine import lock_file
from dpopt.transcript import continued_file
from dpopt.transcript.journal import Entry, FileJournal, MemoryJournal, line_of, read_journal

ENTRIES: list[Entry] = [
    {"kind": "reserve", "charges": [{"parameter": 0.1, "label": "round 1"}]},
    {"kind": "charge", "round": 1},
    {"kind": "draw", "round": 1, "queries": [3, 2**53 + 1], "counts": [-1, 2]},
    {"kind": "record", "text": 'caf\u00e9 \n "quoted" \u2028', "value": None, "yes": True},
]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "transcript.jsonl"
    journal = FileJournal(path)
    for entry in ENTRIES:
        journal.append(entry)
    journal.close()
    return path


def torn(path: Path, tail: bytes = b'{"crc":"12') -> Path:
    """Return a journal behind whose last line a part of a further one stands."""
    with path.open("ab") as file:
        file.write(tail)
    return path


def marks(path: Path) -> list[Entry]:
    """Return what a journal holds behind its entries, once it was opened again and closed."""
    journal, contents = FileJournal.reopen(path)
    journal.close()
    assert contents.entries[: len(ENTRIES)] == ENTRIES
    return contents.entries[len(ENTRIES) :]


def test_entries_read_back_in_order(written: Path) -> None:
    contents = read_journal(written)
    assert contents.entries == ENTRIES
    assert contents.length == written.stat().st_size
    assert not contents.torn


def test_each_entry_is_one_line_of_json_with_its_checksum(written: Path) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    assert len(lines) == len(ENTRIES)
    assert all(line.endswith(b"\n") and line.isascii() for line in lines)
    assert [json.loads(line)["entry"] for line in lines] == ENTRIES
    assert {len(json.loads(line)["crc"]) for line in lines} == {8}


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
            max_leaves=8,
        ),
        max_size=5,
    )
)
def test_any_entry_reads_back_exactly(tmp_path_factory: pytest.TempPathFactory, entry: Entry) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    journal = FileJournal(path)
    journal.append(entry)
    journal.close()
    assert read_journal(path).entries == [entry]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_json_cannot_say_is_refused_and_not_written(tmp_path: Path, value: float) -> None:
    journal = FileJournal(tmp_path / "j")
    with pytest.raises(ValueError, match="not JSON compliant"):
        journal.append({"x": value})
    journal.append({"x": 1})
    journal.close()
    assert read_journal(tmp_path / "j").entries == [{"x": 1}]


def test_an_entry_goes_to_the_operating_system_in_one_write_and_then_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = FileJournal(tmp_path / "j")
    calls: list[str] = []
    write, fsync = os.write, os.fsync

    def recording_write(file: int, data: bytes) -> int:
        calls.append("write")
        return write(file, data)

    def recording_fsync(file: int) -> None:
        calls.append("fsync")
        fsync(file)

    monkeypatch.setattr(os, "write", recording_write)
    monkeypatch.setattr(os, "fsync", recording_fsync)
    journal.append(ENTRIES[0])
    assert calls == ["write", "fsync"]
    journal.append(ENTRIES[1], wait=False)
    assert calls == ["write", "fsync", "write"]
    journal.close()
    assert calls[-1] == "fsync"


def test_a_new_journal_is_found_again_after_a_power_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is put on the disk too: without it the file's name may be lost, and its draws forgotten."""
    flushed: list[str] = []
    fsync = os.fsync

    def recording(file: int) -> None:
        flushed.append(str(Path(f"/proc/self/fd/{file}").readlink()))
        fsync(file)

    monkeypatch.setattr(os, "fsync", recording)
    FileJournal(tmp_path / "j").close()
    assert str(tmp_path) in flushed


def test_a_write_that_comes_in_parts_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:7]))
    journal = FileJournal(tmp_path / "j")
    journal.append(ENTRIES[2])
    journal.close()
    assert read_journal(tmp_path / "j").entries == [ENTRIES[2]]


def test_every_cut_leaves_the_whole_lines_and_says_whether_one_is_torn(written: Path) -> None:
    data = written.read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
    for cut in range(len(data) + 1):
        written.write_bytes(data[:cut])
        contents = read_journal(written)
        whole = sum(end <= cut for end in ends)
        assert contents.entries == ENTRIES[:whole]
        assert contents.length == ([0, *ends][whole])
        assert contents.torn == (cut not in {0, *ends})


@pytest.mark.parametrize(
    "tail", [b"\0" * 40, b"\0" * 40 + b"\n", b"\n", b"garbage\n", b'{"crc":"00000000","entry":{}}\n']
)
def test_a_last_line_that_is_no_entry_is_torn(written: Path, tail: bytes) -> None:
    contents = read_journal(torn(written, tail))
    assert contents.entries == ENTRIES
    assert contents.torn


def test_a_damaged_line_before_the_last_is_refused(written: Path) -> None:
    data = bytearray(written.read_bytes())
    for position in (0, 3, 30, data.index(b"\n") - 1, data.index(b"\n") + 20):
        changed = bytearray(data)
        changed[position] ^= 1
        written.write_bytes(changed)
        with pytest.raises(TranscriptError, match=r"line [12] of transcript.jsonl is damaged"):
            read_journal(written)


def test_a_changed_byte_in_any_line_is_noticed(written: Path) -> None:
    data = written.read_bytes()
    for position in range(0, len(data) - 1, 3):
        changed = bytearray(data)
        changed[position] ^= 4
        written.write_bytes(changed)
        try:
            contents = read_journal(written)
        except TranscriptError:
            continue
        assert contents.torn
        assert contents.entries == ENTRIES[:-1]


def test_a_missing_journal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="cannot read the transcript j: No such file"):
        read_journal(tmp_path / "j")


def test_a_missing_journal_is_not_continued_as_if_nothing_had_been_drawn(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="there is no j to continue"):
        FileJournal.reopen(tmp_path / "j")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b'{"dpopt_schema": 1}', b"age\n", b"\0" * 60, b"1", b'{"crc":1}\n', b'{ "crc":"'])
def test_another_file_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    """A schema named in place of the journal is one line, as a journal that is torn in its first."""
    path = tmp_path / "schema.json"
    path.write_bytes(content)
    with pytest.raises(TranscriptError, match="another file than a run writes"):
        FileJournal.reopen(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("size", range(1, 30))
def test_the_beginning_of_the_first_line_is_torn(written: Path, size: int) -> None:
    written.write_bytes(written.read_bytes()[:size])
    assert read_journal(written).torn


def test_a_journal_is_continued_where_it_ends(written: Path) -> None:
    journal, contents = FileJournal.reopen(written)
    assert contents.entries == ENTRIES
    assert not contents.torn
    journal.append({"kind": "finish"})
    journal.close()
    assert read_journal(written).entries == [*ENTRIES, {"kind": "finish"}]


def test_a_torn_line_is_replaced_by_a_mark(written: Path) -> None:
    journal, contents = FileJournal.reopen(torn(written))
    marked = [*ENTRIES, {"kind": "torn"}]
    assert contents.entries == marked
    assert contents.length == written.stat().st_size
    assert not contents.torn
    journal.append({"kind": "finish"})
    journal.close()
    assert read_journal(written).entries == [*marked, {"kind": "finish"}]
    assert [path.name for path in written.parent.iterdir()] == [written.name]


def test_the_mark_survives_a_second_interruption(written: Path) -> None:
    torn(written)
    for _ in range(2):  # the second time there is no torn line left, and the mark is still there
        assert marks(written) == [{"kind": "torn"}]
    assert marks(torn(written, b'{"crc"')) == [{"kind": "torn"}] * 2


@pytest.mark.parametrize("tail", [b"x", b'{"crc":"12', line_of({"kind": "draw", "x": "y" * 99})[:-1] + b"?"])
def test_wherever_the_writing_of_the_mark_is_interrupted_the_line_stays_torn(
    written: Path, monkeypatch: pytest.MonkeyPatch, tail: bytes
) -> None:
    mark, whole, write = line_of({"kind": "torn"}), written.read_bytes(), os.write
    for done in range(len(mark)):
        written.write_bytes(whole + tail)

        def killed(file: int, data: bytes, done: int = done) -> int:
            write(file, data[:done])
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", killed)
            with pytest.raises(KeyboardInterrupt):
                FileJournal.reopen(written)
        left = read_journal(written)
        assert (left.entries, left.torn) == (ENTRIES, True)
        assert marks(written) == [{"kind": "torn"}]
    assert written.read_bytes() == whole + mark


def test_the_mark_is_on_the_disk_before_anyone_goes_on(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torn(written, b"x")
    flushed: list[bytes] = []
    monkeypatch.setattr(os, "fsync", lambda file: flushed.append(written.read_bytes()))
    journal, _ = FileJournal.reopen(written)
    assert flushed[0].endswith(line_of({"kind": "torn"}))
    journal.close()


def _try_to_open(path: str, answer: multiprocessing.Queue[str]) -> None:
    try:
        FileJournal.reopen(Path(path))[0].close()
    except ReleaseFolderError as error:
        answer.put(str(error))
    else:
        answer.put("opened")


def opened_elsewhere(path: Path) -> str:
    spawn = multiprocessing.get_context("spawn")
    answer: multiprocessing.Queue[str] = spawn.Queue()
    process = spawn.Process(target=_try_to_open, args=(str(path), answer))
    process.start()
    found = answer.get(timeout=60)
    process.join()
    return found


def test_a_second_writer_is_refused_until_the_first_ends(written: Path) -> None:
    journal, _ = FileJournal.reopen(written)
    with pytest.raises(ReleaseFolderError, match="another process is writing transcript.jsonl"):
        FileJournal.reopen(written)
    assert "another process is writing" in opened_elsewhere(written)
    journal.close()
    assert opened_elsewhere(written) == "opened"


def test_a_second_writer_is_refused_after_a_torn_line_was_replaced(written: Path) -> None:
    torn(written, b"x")
    journal, _ = FileJournal.reopen(written)
    with pytest.raises(ReleaseFolderError, match="another process is writing"):
        FileJournal.reopen(written)
    journal.close()
    FileJournal.reopen(written)[0].close()


def test_a_journal_is_opened_when_it_is_locked_and_not_before(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it has the lock, another process may put another file in its place."""
    replaced: list[Path] = []

    def late(file: int) -> bool:
        if not replaced:
            other = written.with_name("other")
            other.write_bytes(written.read_bytes() + line_of({"kind": "charge"}))
            replaced.append(other.replace(written))
        return lock_file(file)

    monkeypatch.setattr(continued_file, "lock_file", late)
    journal, contents = FileJournal.reopen(written)
    assert contents.entries == [*ENTRIES, {"kind": "charge"}]
    journal.append({"kind": "finish"})
    journal.close()
    assert read_journal(written).entries == [*ENTRIES, {"kind": "charge"}, {"kind": "finish"}]


def test_a_closed_journal_leaves_nothing_beside_it_and_nor_does_an_open_one(written: Path) -> None:
    journal, _ = FileJournal.reopen(written)
    assert [path.name for path in written.parent.iterdir()] == [written.name]
    journal.close()
    journal.close()
    assert [path.name for path in written.parent.iterdir()] == [written.name]


def test_a_new_journal_never_takes_a_file_or_a_link_that_is_there(written: Path) -> None:
    before = written.read_bytes()
    (written.parent / "link").symlink_to("nowhere")
    for taken in (written, written.parent / "link"):
        with pytest.raises(ReleaseFolderError, match="exists already"):
            FileJournal(taken)
    assert written.read_bytes() == before
    assert not (written.parent / "nowhere").exists()


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReleaseFolderError, match="cannot write pipe: it is not a regular file"):
        FileJournal.reopen(tmp_path / "pipe")


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFolderError, match="No such file"):
        FileJournal(tmp_path / "missing" / "j")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported_and_nothing_is_written_behind_the_torn_line(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, _ = FileJournal.reopen(written)
    write = os.write

    def full(file: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data[:10])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(ReleaseFolderError, match="No space left on device.*continue with 'dpopt resume'"):
            journal.append({"kind": "x"})
    with pytest.raises(ReleaseFolderError, match="could not be written before"):
        journal.append({"kind": "finish"})
    journal.close()
    contents = read_journal(written)
    assert contents.entries == ENTRIES
    assert contents.torn


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFolderError, match="cannot write j: No such file or directory"):
        FileJournal(tmp_path / "nowhere" / "j")


def test_a_journal_in_memory_keeps_copies(tmp_path: Path) -> None:
    journal = MemoryJournal()
    entry: Entry = {"values": [1, 2]}
    journal.append(entry)
    entry["values"].append(3)
    assert journal.entries == [{"values": [1, 2]}]


def test_a_journal_in_memory_may_keep_nothing() -> None:
    journal = MemoryJournal(keep=False)
    journal.append({"kind": "draw"})
    assert journal.entries == []
