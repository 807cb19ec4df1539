"""Reading and writing files: bytes, text, JSON and arrays, with limits, whole or not at all.

In: a path. Out: what it holds, or an error that says what was found. A file is written under another name and then
moved to its place, so that nobody finds half of it.

| file | what it holds |
|---|---|
| reading.py, array_files.py | the one way to read a file: bytes and text, JSON, arrays; with limits |
| codec.py | dataclasses as JSON objects, and back, strictly: the one way to give a value a form on file |
| json_files.py | JSON files, strictly read and safely written |
| written_files.py | how files are written: whole or not at all, and with which permissions; whether a new one can be |
"""
