"""Write the .mps files of the instances from their .toml files: `python models/best_response/write_instances.py`.

The .toml file is the instance; the .mps file is what dpopt makes of it, for solvers that read files. Each line printed
holds the file's name and the fingerprints that its .toml must state.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpopt.formulations.max_csp_as_mip import Formulation, max_csp_as_mip
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.mps import mps_text
from dpopt.queries.clauses import Clauses

FOLDER = Path(__file__).parent / "instances"


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A frozen instance: what its .toml file states, and the program that the statement describes."""

    name: str
    optimum: int
    how_known: str
    tolerance: float
    formulation: Formulation
    fingerprint: str
    mip_fingerprint: str
    sizes: list[int]
    clauses: list[tuple[int, list[tuple[int, str, int]], bool]]

    def problem(self) -> MaxCsp:
        """Return the instance as a MaxCsp."""
        width = max(len(literals) for _, literals, _ in self.clauses)
        attributes = np.full((len(self.clauses), width), -1, dtype=np.int32)
        values = np.zeros_like(attributes)
        signs = np.zeros(attributes.shape, dtype=np.bool_)
        for j, (_, literals, _) in enumerate(self.clauses):
            for i, (attribute, relation, value) in enumerate(literals):
                attributes[j, i], values[j, i], signs[j, i] = attribute, value, relation == "="
        conjunctions = Clauses.conjunctions(attributes, values, signs)
        negated = np.array([negated for _, _, negated in self.clauses])
        accepted = np.where(negated, conjunctions.negated().accepted, conjunctions.accepted)
        weights = np.array([weight for weight, _, _ in self.clauses], dtype=np.int64)
        clauses = Clauses(conjunctions.attributes, conjunctions.values, conjunctions.signs, accepted)
        return MaxCsp(np.array(self.sizes, dtype=np.int32), clauses, weights)

    def mip(self) -> MixedIntegerProgram:
        """Return the instance as the mixed-integer program of the page."""
        return max_csp_as_mip(self.problem(), self.formulation)

    def mps_path(self) -> Path:
        """Return where the .mps file is."""
        return FOLDER / f"{self.name}.mps"

    def mps(self) -> bytes:
        """Return what the .mps file must hold."""
        return mps_text(self.mip(), name=self.name)


def read_instance(path: Path) -> Instance:
    """Read one .toml file."""
    stated = tomllib.loads(path.read_text(encoding="utf-8"))
    return Instance(
        name=path.stem,
        optimum=stated["optimum"],
        how_known=stated["how_known"],
        tolerance=stated["tolerance"],
        formulation=Formulation(stated["formulation"]),
        fingerprint=stated["fingerprint"],
        mip_fingerprint=stated["mip_fingerprint"],
        sizes=stated["problem"]["sizes"],
        clauses=[
            (
                clause["weight"],
                [tuple(literal) for literal in clause["literals"]],
                clause.get("negated", False),
            )
            for clause in stated["problem"]["clauses"]
        ],
    )


def read_instances() -> list[Instance]:
    """Read all instances, by name."""
    return [read_instance(path) for path in sorted(FOLDER.glob("*.toml"))]


if __name__ == "__main__":
    for instance in read_instances():
        instance.mps_path().write_bytes(instance.mps())
        print(f'{instance.name}\n  fingerprint = "{instance.problem().fingerprint()}"')
        print(f'  mip_fingerprint = "{instance.mip().fingerprint()}"')
