"""Write the files of the catalogue's instances again: `python models/write_instances.py`.

A .toml file is an instance. The small ones are stated by hand and stay as they are. The larger ones are rounds of DualQuery on
public populations (`public_rounds`); what is known of them is kept as long as their problem is the same. Where an instance has
an .mps or .mps.gz file beside it, for solvers that read files, that is the program that dpopt makes of it, and the .toml states
its fingerprint.

    python models/write_instances.py --release DIR --round-numbers 1,10,60 --out FOLDER

writes rounds of a release as instances of the same form; all of them were public once the release was.

    python models/write_instances.py --export FOLDER --names adult-rules-1,wide-parities-5

writes instances of the benchmark in every form: .toml, .mps, .opb, and .wcnf where no rule adds up numbers.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import re
from pathlib import Path

from instance_table import instance_files, write_table
from instance_text import Known, dated, instance_text
from public_rounds import FAMILIES, ROUNDS, SEED, STEP, Family, rounds

from dpopt.algorithms.replay import load
from dpopt.comparison.instances import Instance, read_instance
from dpopt.errors import ProgramError
from dpopt.models.best_responses.best_response import best_response, round_program
from dpopt.models.best_responses.max_csp_as_mip import Formulation, max_csp_as_mip
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.mps import mps_text

MODELS = Path(__file__).parent
PLAIN_BYTES = 10_000  # longer programs are compressed
ENDINGS = (".mps", ".opb", ".wcnf")


def family_file(family: Family, number: int) -> Path:
    """Return the .toml file of a round."""
    return MODELS / family.folder / "instances" / f"{family.name}-{number}.toml"


def program(instance: Instance) -> MixedIntegerProgram:
    """Return the instance as the mixed-integer program that it names."""
    return max_csp_as_mip(instance.problem, Formulation(instance.stated["formulation"]))


def mps(instance: Instance) -> bytes:
    """Return the text of the .mps file."""
    return mps_text(program(instance), name=instance.name)


def compressed(text: bytes) -> bytes:
    """Return the same bytes on every machine and day, up to the version of zlib."""
    return gzip.compress(text, 9, mtime=0)


def statement(family: Family, number: int, problem: MaxCsp, known: Known) -> str:
    """Return the text of a round's .toml file."""
    title = f"Round {number} of DualQuery on a public population in the shape of {family.shape.like}: {family.what}."
    stated: dict[str, object] = {
        "formulation": Formulation.PER_LITERAL.value,
        "family": family.name,
        "round": number,
        "made": f"python models/write_instances.py: {family.shape.draws} draws of {family.workload} for a public population "
        f"with seed {SEED}, step {STEP}",
    }
    if family.shape.programs and number == 1:
        stated["mip_fingerprint"] = ""  # written with the program
    return instance_text(title, problem, known, stated)


def known_of(path: Path, problem: MaxCsp) -> Known | None:
    """Return what a file says of this problem; None if there is no such file, or it states another problem."""
    if not path.exists():
        return None
    found = read_instance(path)
    return Known.of(found) if found.problem.fingerprint() == problem.fingerprint() else None


def write_family(family: Family) -> None:
    """Play the rounds of a family and write them."""
    for number, (problem, record) in rounds(family).items():
        path = family_file(family, number)
        known = known_of(path, problem) or Known.first(problem, record, dated("steepest ascent"))
        path.write_text(statement(family, number, problem, known), encoding="utf-8")


def write_programs() -> None:
    """Write the .mps and .mps.gz files, and their fingerprints in the .toml files."""
    for path in instance_files():
        instance = read_instance(path)
        if "mip_fingerprint" not in instance.stated:
            continue
        line = f'mip_fingerprint = "{program(instance).fingerprint()}"'
        stated = re.sub(r"^mip_fingerprint = .*$", line, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        path.write_text(stated, encoding="utf-8")
        text = mps(instance)
        plain, packed = path.with_suffix(".mps"), path.with_suffix(".mps.gz")
        (packed if len(text) <= PLAIN_BYTES else plain).unlink(missing_ok=True)
        if len(text) <= PLAIN_BYTES:
            plain.write_bytes(text)
        else:
            packed.write_bytes(compressed(text))


def fingerprint() -> str:
    """Return the fingerprint of all problems of the benchmark, which its manifest states."""
    files = [family_file(family, number) for family in FAMILIES.values() for number in ROUNDS]
    lines = [f"{path.stem} {read_instance(path).stated['fingerprint']}\n" for path in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def write_fingerprint() -> None:
    """Write the fingerprint in the manifest."""
    manifest = MODELS / "benchmark.toml"
    line = f'fingerprint = "{fingerprint()}"'
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(re.sub(r"^fingerprint = .*$", line, text, flags=re.MULTILINE), encoding="utf-8")


def export(names: list[str], out: Path) -> None:
    """Write instances in every form: dpopt's own, and the files of other solvers."""
    files = {path.stem: path for family in FAMILIES.values() for path in (family_file(family, one) for one in ROUNDS)}
    unknown = [name for name in names if name not in files]
    if unknown:
        raise SystemExit(f"the benchmark has no instance {', '.join(unknown)}; INSTANCES.md lists all")
    out.mkdir(parents=True, exist_ok=True)
    for name in names or files:
        export_one(files[name], out)


def export_one(path: Path, out: Path) -> None:
    """Write one instance in every form that can hold it."""
    instance = read_instance(path)
    (out / path.name).write_bytes(path.read_bytes())
    model = best_response(instance.problem, Formulation(instance.stated["formulation"]))
    for ending in ENDINGS:
        try:
            model.write(out / f"{path.stem}{ending}")
        except ProgramError as error:
            print(f"{path.stem}{ending}: {error}")


def write_transcript(folder: Path, numbers: list[int], out: Path) -> None:
    """Write rounds of a release as instances: problem, record and bound as the transcript has them."""
    release = load(folder)
    job, plan = release.job, release.job.plan
    out.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        if not 1 <= number <= len(release.played):
            raise SystemExit(f"round {number}: the release has rounds 1 to {len(release.played)}")
        done = release.played[number - 1]
        problem = round_program(job.workload.clauses, job.schema.sizes, done.sampled, job.schema.circuit())
        known = Known.first(problem, done.record, f"the release, {done.solver}")
        stated = {
            "formulation": Formulation.PER_LITERAL.value,
            "made": f"round {number} of a release: T = {plan.rounds}, s = {plan.draws}, step {plan.step}; the "
            f"workload has the fingerprint {job.workload.fingerprint}",
        }
        path = out / f"{folder.resolve().name}-{number}.toml"
        title = f"Round {number} of a release of {len(job.workload):,} queries."
        path.write_text(instance_text(title, problem, known, stated), encoding="utf-8")
        print(path)


def main() -> None:
    """Write the catalogue, or rounds of a release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", type=Path, metavar="DIR", help="folder of a finished release")
    parser.add_argument("--round-numbers", default="1", help="rounds of the release, separated by commas")
    parser.add_argument("--export", type=Path, metavar="FOLDER", help="where the benchmark goes in every form")
    parser.add_argument("--names", default="", help="the instances to export, separated by commas; all if left out")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where its instances go")
    given = parser.parse_args()
    if given.release is not None:
        if given.out is None:
            parser.error("--release needs --out")
        write_transcript(given.release, [int(number) for number in given.round_numbers.split(",")], given.out)
        return
    if given.export is not None:
        export([name for name in given.names.split(",") if name], given.export)
        return
    for family in FAMILIES.values():
        write_family(family)
    write_programs()
    write_fingerprint()
    write_table()


if __name__ == "__main__":
    main()
