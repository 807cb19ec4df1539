"""The table of all instances on the page INSTANCES.md, from the instances' files."""

from __future__ import annotations

from pathlib import Path

from dpopt.comparison.instances import Instance, read_instance

MODELS = Path(__file__).parent
PAGE = MODELS / "INSTANCES.md"
BEGIN, END = "<!-- table -->\n\n", "\n<!-- end of table -->"
HEAD = """\
| instance | level | attributes | codes | clauses | rules | best known | bound | proven bound |
|---|---|---|---|---|---|---|---|---|
"""


def instance_files() -> list[Path]:
    """Return the .toml files of the whole catalogue, by folder and name."""
    return sorted(MODELS.glob("*/instances/*.toml"))


def level(instance: Instance) -> str:
    """Return "easy" where enumeration or exact arithmetic proves the optimum, "hard" where a solver says it, else "open"."""
    if instance.optimum is None:
        return "open"
    return "easy" if instance.stated.get("proven_bound", instance.optimum) == instance.optimum else "hard"


def table() -> str:
    """Return the rows: those stated by hand, then the rounds of each family."""
    files = [(path, read_instance(path)) for path in instance_files()]
    return HEAD + "".join(_row(path, instance) for path, instance in sorted(files, key=_place))


def _place(file: tuple[Path, Instance]) -> tuple[str, int]:
    """Return by what the table is sorted: instances stated by hand come first and keep their order."""
    stated = file[1].stated
    return str(stated.get("family", "")), int(str(stated.get("round", 0)))


def write_table() -> None:
    """Write the table on the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}", encoding="utf-8")


def _row(path: Path, instance: Instance) -> str:
    problem, proven = instance.problem, instance.stated.get("proven_bound", instance.optimum)
    bound = "optimal" if instance.optimum is not None else f"{instance.bound:,}"
    link = f"[{path.stem}]({path.relative_to(MODELS).as_posix()})"
    return (
        f"| {link} | {level(instance)} | {problem.sizes.size:,} | {int(problem.sizes.sum()):,} | {len(problem.clauses):,} | "
        f"{problem.rules.number_of_rules or ''} | {instance.best_known:,} | {bound} | {proven:,} |\n"
    )
