"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TableArgument = Annotated[
    Path,
    typer.Argument(
        help="CSV (also .gz) or Parquet file, or a folder of either. Private: read here and nowhere else."
    ),
]
AnyTableArgument = Annotated[
    Path,
    typer.Argument(
        help="CSV (also .gz) or Parquet file, a folder of either, or a file of a wide table (--binary-columns, --layout). "
        "Private: read here and nowhere else."
    ),
]
FolderArgument = Annotated[Path, typer.Argument(help="Release folder.")]
SchemaOption = Annotated[
    Path, typer.Option("--schema", help="Schema file (JSON): the declared attributes. Public.")
]
DeclaredSchemaOption = Annotated[
    Path | None,
    typer.Option(
        "--schema", help="Schema file (JSON): the declared attributes. Public. This or --binary-columns."
    ),
]
BinaryColumnsOption = Annotated[
    int | None,
    typer.Option(
        "--binary-columns",
        help="In place of a schema: the table has this many columns of zeros and ones (items). Public.",
    ),
]
NamesOption = Annotated[
    Path | None,
    typer.Option("--names", help="Names of the binary columns, one on each line, in order. Public."),
]
LayoutOption = Annotated[
    str | None,
    typer.Option(
        "--layout",
        help="Layout of a wide table: npz (SciPy), mtx (Matrix Market), bits (these three are recognized); baskets (the items "
        "of a record on each line), pairs (a user and an item on each line).",
    ),
]
FirstItemOption = Annotated[
    int | None,
    typer.Option(
        "--first-item",
        help="baskets, pairs: number of the first item, 0 if left out. With --names: items are numbers all the same.",
    ),
]
PairColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--pair-columns",
        help="pairs: columns of user and item, from 1, such as 1,2; needed if there are more than two.",
    ),
]
WorkloadOption = Annotated[
    str,
    typer.Option(
        "--workload",
        help="Queries to keep: marginals:3, marginals:3,count=64,seed=1, conjunctions:3,count=500000,seed=7, "
        "threshold:2of4,count=100000,seed=7 (at least 2 of 4 hold), parity:3,count=100000,seed=7 (an odd number of 3 hold), "
        "popular:3,count=500000,seed=7,ranks=FILE (popular items more often), or a JSON file. ',occurring' restricts to values "
        "declared as occurring, ',positive' to conjunctions without '!='. Public.",
    ),
]
FillOption = Annotated[
    float | None,
    typer.Option(
        "--fill",
        help="Tables of zeros and ones: the public share of ones, such as average basket / number of items. Predictions and "
        "the rule for rounds and draws use it; the release records it. Without it the layout says whether a table is sparse.",
    ),
]
EpsilonOption = Annotated[
    float | None, typer.Option("--epsilon", help="Privacy budget epsilon; needs --delta.")
]
DeltaOption = Annotated[
    float | None, typer.Option("--delta", help="Privacy parameter delta, well below 1/n.")
]
RhoOption = Annotated[float | None, typer.Option("--rho", help="Budget in zCDP, instead of --epsilon.")]
AlgorithmOption = Annotated[
    str,
    typer.Option(
        "--algorithm",
        help="auto (the least predicted mean error), projection, adaptive, dualquery, fem, sepfem, dqrs, pmw, mwem, smalldb, "
        "or noise (answers without records).",
    ),
]
SelectionsOption = Annotated[
    int | None,
    typer.Option("--selections", help="adaptive: how many marginals are selected and measured."),
]
RecordsOption = Annotated[
    int | None,
    typer.Option(
        "--records",
        help="projection, adaptive: how many records are fitted to the noisy counts; pmw, mwem: weighted records at most; "
        "smalldb: records of the database.",
    ),
]
SmoothingOption = Annotated[
    float | None,
    typer.Option(
        "--smoothing",
        help="projection, adaptive: pull towards independent attributes, as if so many records had been seen; 0 for none.",
    ),
]
ColumnsOption = Annotated[
    int | None,
    typer.Option(
        "--columns",
        help="projection, adaptive: rounds of column generation that weigh the records and bound the gap to the best fit.",
    ),
]
FitSecondsOption = Annotated[
    float | None,
    typer.Option(
        "--fit-seconds",
        help="projection, adaptive: a fit begins no sweep after so many seconds; its result then depends on the machine.",
    ),
]
AlphaOption = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        help="pmw: end when a measured answer lies within 2 alpha; that of the noise if left out.",
    ),
]
SelectOption = Annotated[
    str | None,
    typer.Option(
        "--select",
        help="pmw, mwem: queries one by one, or whole marginals (mwem's default where there are some).",
    ),
]
UpdateOption = Annotated[
    str | None,
    typer.Option(
        "--update",
        help="pmw, mwem: how the distribution learns: max-entropy (default), projection, mwem, hoeffding, or paper.",
    ),
]
SelectionShareOption = Annotated[
    float | None,
    typer.Option("--selection-share", help="pmw, mwem: share of a round's budget for the selection."),
]
ReplaysOption = Annotated[
    int | None,
    typer.Option("--replays", help="pmw, mwem: how often a round goes through all measurements so far."),
]
AverageOption = Annotated[
    bool, typer.Option("--average", help="pmw, mwem: release the average of the rounds' distributions.")
]
AccountantOption = Annotated[
    str,
    typer.Option(
        "--accountant",
        help="zcdp (default), gdp (its constant is verified numerically, not proved), per-round, theorem or pure.",
    ),
]
NeighboursOption = Annotated[
    str,
    typer.Option(
        "--neighbours",
        help="replace (one record changed, n public) or add-remove (with a fixed public --n0).",
    ),
]
N0Option = Annotated[
    int | None, typer.Option("--n0", help="Public size under add-remove, fixed without looking at the table.")
]
RoundsOption = Annotated[
    int | None, typer.Option("--rounds", help="Rounds T; fitted to the budget if left out.")
]
DrawsOption = Annotated[int | None, typer.Option("--draws", help="Draws s per round; fitted if left out.")]
StepOption = Annotated[
    str | None, typer.Option("--step", help="Step eta, a decimal number; 1.4 or fitted if left out.")
]
PlanByOption = Annotated[
    str,
    typer.Option(
        "--plan-by",
        help="How T, s and eta are chosen where left out: rule, simulation (slower; on public synthetic data), or bound.",
    ),
]
SolverOption = Annotated[
    str,
    typer.Option(
        "--solver",
        help="Best-response solver, with a formulation where it needs one (highs:clique); see 'dpopt solvers'.",
    ),
]
WorkOption = Annotated[
    int | None,
    typer.Option(
        "--work", help="Deterministic limit per round, in the solver's own unit (local search: sweeps)."
    ),
]
SecondsOption = Annotated[float | None, typer.Option("--seconds", help="Time limit per round.")]
SeedOption = Annotated[
    int,
    typer.Option("--seed", help="Seed of the solver and of public choices. No private draw depends on it."),
]
FreeOption = Annotated[
    str,
    typer.Option(
        "--free-attributes",
        help="Attributes that no drawn query mentions: first, random, or estimated (noisy one-way marginals, charged).",
    ),
]
EncodingOption = Annotated[
    str,
    typer.Option(
        "--encoding", help="records (every record decodes) or bits (the paper's free indicator bits)."
    ),
]
OnUnknownOption = Annotated[
    str,
    typer.Option(
        "--on-unknown",
        help="Values outside the schema: error, clip (numbers), other (declared bucket), or clip,other.",
    ),
]
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        help="Where the table is counted: memory, stream (more rows than memory), dask:N (N local processes), or dask:ADDRESS.",
    ),
]
NoHeaderOption = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The CSV file has no header line; its columns are those of the schema, in order. pairs: the first line is a pair.",
    ),
]
ThreadsOption = Annotated[int, typer.Option("--threads", help="Threads that a solver may use.")]
FormulationOption = Annotated[
    str | None,
    typer.Option(
        "--formulation",
        help="How clauses become rows: clique, per-literal or aggregated; the tightest one if left out.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
