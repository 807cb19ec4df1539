"""`python -m experiments.benchmarks.releases_in_one_process TABLE SCHEMA WORKLOAD FOLDER step=5 draws=100 delta=1e-9 EPSILON`.

Releases a table by DualQuery once for each budget that is named, through the Python API, and prints seconds: of importing, of
all the rest, and of each release. The workload is built once; each release reads the table and counts.
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    """Release, and print the seconds as JSON."""
    begun = time.perf_counter()
    from dpopt import Schema, parse_workload, release

    imported = time.perf_counter()
    table, schema, text, folder, *rest = sys.argv[1:]
    chosen = dict(word.split("=") for word in rest if "=" in word)
    workload = parse_workload(text, Schema.read(schema))
    releases = {}
    for epsilon in [word for word in rest if "=" not in word]:
        start = time.perf_counter()
        release(
            table,
            workload.schema,
            workload,
            out=f"{folder}/{epsilon}",
            algorithm="dualquery",
            neighbours="replace",
            step=float(chosen["step"]),
            draws=int(chosen["draws"]),
            epsilon=float(epsilon),
            delta=float(chosen["delta"]),
            predict=False,
        )
        releases[epsilon] = time.perf_counter() - start
    print(json.dumps({"importing": imported - begun, "work": time.perf_counter() - imported, "releases": releases}))


if __name__ == "__main__":
    main()
