"""The models by the names of their pages: the decision of each, and how it is built from plain numbers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.files.reading import read_text
from dpopt.models.best_linear_answer import best_linear_answer
from dpopt.models.best_responses.perturbed_response import perturbed_response
from dpopt.models.halfspace_debiasing import halfspace_debiasing
from dpopt.models.histograms.graphical_sequence import graphical_relaxation, graphical_sequence
from dpopt.models.histograms.interval_partition import interval_partition
from dpopt.models.histograms.isotonic_regression import isotonic_median_regression, isotonic_regression
from dpopt.models.histograms.tree_consistency import tree_consistency, whole_tree_consistency
from dpopt.models.model import Model
from dpopt.models.noise_budgets.continual_counting import continual_counting
from dpopt.models.noise_budgets.hierarchy_budgets import hierarchy_budgets
from dpopt.models.noise_budgets.level_budgets import level_budgets
from dpopt.models.noise_budgets.noise_allocation import noise_allocation
from dpopt.models.noise_budgets.residual_allocation import residual_allocation
from dpopt.models.noise_budgets.strategy import strategy
from dpopt.models.optimal_mechanism import optimal_mechanism
from dpopt.models.polynomials.answer_polynomial import answer_polynomial
from dpopt.models.polynomials.approximation_plus_noise import approximation_plus_noise
from dpopt.models.polynomials.coefficient_budget import coefficient_budget
from dpopt.models.polynomials.decision_lists import decision_lists
from dpopt.models.polynomials.minimax_polynomial import minimax_polynomial, predicate_values
from dpopt.models.records.consistent_records import consistent_records
from dpopt.models.records.max_entropy import max_entropy
from dpopt.models.records.projection import projection
from dpopt.models.records.reweighting import reweighting
from dpopt.models.records.small_database import small_database
from dpopt.models.shrinkage import shrinkage
from dpopt.queries.ranges.tree import Tree

Numbers = NDArray[np.float64]


class _Build(Protocol):
    """A function that makes a model from numbers by name."""

    def __call__(self, **numbers: object) -> Model: ...


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A model that can be built from plain numbers.

    Other packages register theirs under the entry-point group `dpopt.models`.
    """

    page: str
    """Its page: `models/<page>`. For a model from outside, the path of a Markdown file, or "" if there is none."""
    decides: str
    """The decision that the model makes."""
    build: object
    """Makes the model."""
    example: Mapping[str, object]
    """Arguments of a small example."""
    types: Mapping[str, type] = field(default_factory=dict)
    """Types of arrays that are not float64; `list` for lists that are no arrays, as their rows differ in length."""


def _tree(bins: int, branching: int, values: Numbers, variances: Numbers, *, nonnegative: bool = False) -> Model:
    return tree_consistency(Tree.balanced(bins, branching), values, variances, nonnegative=nonnegative)


def _whole_tree(bins: int, branching: int, values: Numbers, variances: Numbers, most: int) -> Model:
    return whole_tree_consistency(Tree.balanced(bins, branching), values, variances, most)


def _budget(
    target: str | Numbers, weights: Numbers, error: float, k: int | None = None, *, keeps_zero: bool = False
) -> Model:
    return coefficient_budget(predicate_values(target, k), weights, error, keeps_zero=keeps_zero)


def _joint(target: str | Numbers, weights: Numbers, k: int | None = None) -> Model:
    return approximation_plus_noise(predicate_values(target, k), weights)


def _lists(
    length: int,
    changes: int,
    weights: Numbers,
    *,
    gaussian: bool = True,
    replaced: bool = False,
    negations: bool = True,
) -> Model:
    return decision_lists(length, changes, weights, gaussian=gaussian, replaced=replaced, negations=negations).model


_NOISY = {"values": [14, 9, 10, 15]}
_TREE = {"bins": 4, "branching": 2, "values": [13, 3, 11, 4, 1, 12, 1], "variances": [1] * 7}
_DEGREES = {"values": [3, 2.5, 2, 1]}

CATALOGUE: dict[str, CatalogueEntry] = {
    "isotonic_regression": CatalogueEntry(
        "isotonic_regression",
        "which nondecreasing sequence is nearest to noisy sorted counts, by squares",
        isotonic_regression,
        _NOISY,
    ),
    "isotonic_median_regression": CatalogueEntry(
        "isotonic_regression",
        "which nondecreasing sequence is nearest, by absolute differences",
        isotonic_median_regression,
        _NOISY,
    ),
    "tree_consistency": CatalogueEntry(
        "tree_consistency", "which consistent tree is nearest to noisy counts of its nodes", _tree, _TREE
    ),
    "whole_tree_consistency": CatalogueEntry(
        "tree_consistency", "which consistent tree of whole counts is nearest", _whole_tree, {**_TREE, "most": 16}
    ),
    "graphical_relaxation": CatalogueEntry(
        "graphical_sequences",
        "which falling sequence that obeys Erdos and Gallai is nearest to noisy degrees",
        graphical_relaxation,
        _DEGREES,
    ),
    "graphical_sequence": CatalogueEntry(
        "graphical_sequences", "which degree sequence of a graph is nearest", graphical_sequence, _DEGREES
    ),
    "interval_partition": CatalogueEntry(
        "interval_partition",
        "which intervals stand for the bins of a released histogram",
        interval_partition,
        {"values": [1, 1, 5, 6], "intervals": 2},
    ),
    "best_linear_answer": CatalogueEntry(
        "best_linear_answer",
        "by which numbers noisy counts add up to an answer",
        best_linear_answer,
        {"sizes": [2], "marginals": [[0], [0]], "variances": [1, 3], "numbers": [0, 1]},
    ),
    "shrinkage": CatalogueEntry(
        "shrinkage",
        "how far noisy cells are drawn towards what was predicted for them",
        shrinkage,
        {"values": [0, 1.922703], "noise": [1, 1], "predicted": [1, 1], "scales": [0, 3], "exponents": [0, 0]},
    ),
    "minimax_polynomial": CatalogueEntry(
        "minimax_polynomial",
        "which polynomial of a degree is nearest to or, and, or at least r of k",
        minimax_polynomial,
        {"target": "or", "k": 8, "degree": 4},
    ),
    "coefficient_budget": CatalogueEntry(
        "coefficient_budget",
        "which polynomial near a predicate has the least coefficients",
        _budget,
        {"target": "or", "k": 4, "weights": [0, 1, 1, 1], "error": 0.25},
    ),
    "approximation_plus_noise": CatalogueEntry(
        "approximation_plus_noise",
        "which polynomial has the least error and noise together",
        _joint,
        {"target": "and", "k": 3, "weights": [0, 0.01, 0.02, 0.04]},
    ),
    "decision_lists": CatalogueEntry(
        "decision_lists",
        "by which numbers rows that are decision lists count in conjunctions",
        _lists,
        {"length": 2, "changes": 2, "weights": [0, 0.01, 0.02]},
    ),
    "consistent_records": CatalogueEntry(
        "consistent_records",
        "between which numbers an answer lies if noisy counts are those of records",
        consistent_records,
        {
            "rows": [[0, 1, 0, 1], [0, 0, 1, 1]],
            "answers": [0, 0, 0, 1],
            "low": [4, 5],
            "high": [6, 7],
            "records": 10,
            "maximize": True,
        },
    ),
    "halfspace_debiasing": CatalogueEntry(
        "halfspace_debiasing",
        "how biased estimates are combined so that the worst bias is least",
        halfspace_debiasing,
        {"responses": [[0.5, 0.8], [0.9, 0.6]], "noise": [0.1, 0.1]},
    ),
    "projection": CatalogueEntry(
        "projection",
        "which weights of given records have the answers nearest to noisy ones",
        projection,
        {"answers": [[1, 0, 1], [0, 1, 1]], "values": [0.7, 0.6], "weights": [1, 1]},
        {"answers": np.bool_},
    ),
    "max_entropy": CatalogueEntry(
        "max_entropy",
        "which distribution is nearest to a given one and agrees with noisy shares up to their noise",
        max_entropy,
        {"start": [0.5, 0.5], "parts": [[0, 1]], "values": [[0.1, 0.9]], "slacks": 0.1, "weights": 10.986122886681098},
        {"parts": np.int64, "values": list},
    ),
    "reweighting": CatalogueEntry(
        "reweighting",
        "which weights of DualQuery's records make its draws most likely",
        reweighting,
        {"net": [[1], [-1], [1]], "answers": [[1, 0, 0]], "eta": 1.0, "draws": 1},
        {"net": np.int64, "answers": np.bool_},
    ),
    "answer_polynomial": CatalogueEntry(
        "answer_polynomial",
        "how noisy counts of small conjunctions add up to the answer of a query",
        answer_polynomial,
        {"target": [0, 0, 1], "deviations": [0.1, 0.5], "zeta": 1.0},
    ),
    "noise_allocation": CatalogueEntry(
        "noise_allocation",
        "how much of a privacy budget each marginal gets before records are fitted",
        noise_allocation,
        {"sizes": [3, 3], "marginals": [[0, 1]], "rho": 0.5, "size": 4, "signal": 0.25},
        {"sizes": np.int64, "marginals": list},
    ),
    "residual_allocation": CatalogueEntry(
        "residual_allocation",
        "how precisely each residual of a workload's marginals is measured",
        residual_allocation,
        {"sizes": [3, 3], "marginals": [[0, 1]], "rho": 0.5},
        {"sizes": np.int64, "marginals": list, "variances": np.float64},
    ),
    "level_budgets": CatalogueEntry(
        "level_budgets",
        "how much of a privacy budget each level of a tree over bins gets",
        level_budgets,
        {"bins": 2, "ranges": [[[0, 1], [1, 2], [0, 2]]], "amount": 0.5},
        {"ranges": list},
    ),
    "hierarchy_budgets": CatalogueEntry(
        "hierarchy_budgets",
        "how much of a privacy budget each level of a declared hierarchy gets",
        hierarchy_budgets,
        {"levels": [[2], [1, 1]], "amount": 0.5},
        {"levels": list},
    ),
    "strategy": CatalogueEntry(
        "strategy",
        "which sums of bins are measured so that a workload of linear queries has the least variance",
        strategy,
        {"workload": [[1, 0], [1, 1]]},
    ),
    "continual_counting": CatalogueEntry(
        "continual_counting",
        "which sums of the steps so far are measured, so that every prefix is answered as it grows",
        continual_counting,
        {"steps": 2},
    ),
    "optimal_mechanism": CatalogueEntry(
        "optimal_mechanism",
        "which probabilities of outputs have the least expected loss under differential privacy",
        optimal_mechanism,
        {"losses": [[0, 1], [1, 0]], "ratio": 3},
    ),
    "perturbed_response": CatalogueEntry(
        "perturbed_response",
        "which record answers selected queries best, with a random reward for each code",
        perturbed_response,
        {
            "sizes": [3, 2],
            "queries": [[[0, 1], [1, 0]]],
            "weights": [2],
            "rewards": [[-2, -1.5, -0.5], [-0.25, -0.125]],
        },
        {"sizes": np.int32, "queries": list, "weights": np.int64, "rewards": list},
    ),
    "small_database": CatalogueEntry(
        "small_database",
        "which few records have the answers nearest to given ones",
        small_database,
        {"answers": [[1, 0, 1], [0, 1, 1]], "targets": [0.7, 0.6], "records": 4},
        {"answers": np.int8, "low": np.int64, "high": np.int64},
    ),
}
"""The models that plain numbers state (null: no number), by name; `best_response` builds best responses."""
ENTRY_POINTS = "dpopt.models"


def model_names() -> tuple[str, ...]:
    """Return the names of all models that plain numbers state: those of this package, then others by name."""
    from dpopt.solvers.registry import outside

    return (*CATALOGUE, *sorted(set(outside(ENTRY_POINTS)) - set(CATALOGUE)))


def catalogue_entry(name: str) -> CatalogueEntry:
    """Return the entry of a model, of this package or from outside."""
    from dpopt.solvers.registry import BREAKDOWNS, outside

    if name in CATALOGUE:
        return CATALOGUE[name]
    point = outside(ENTRY_POINTS).get(name)
    if point is None:
        raise ProgramError(f"there is no model {name!r} to build from numbers; there are {', '.join(model_names())}")
    registered = f"the model {name!r} is registered as {point.value!r}"
    try:
        entry: object = point.load()
    except BREAKDOWNS as problem:
        raise ProgramError(f"{registered}, which does not load: {type(problem).__name__}: {problem}") from problem
    if not isinstance(entry, CatalogueEntry) or not callable(entry.build):
        raise ProgramError(f"{registered}, which is a {type(entry).__name__}; expected a CatalogueEntry that builds")
    return entry


def pages() -> Path:
    """Return the folder of the catalogue's pages, textbooks and instances, in the installed package or the checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "pages", package.parent / "models"):
        if (folder / "INSTANCES.md").is_file():
            return folder
    raise ProgramError(f"found no pages of models beside {package}; install dpopt from its wheel or its checkout")


def page(name: str) -> Path:
    """Return the file of a page, by its own name or that of a model; errors as of `pages`, and for an unknown name."""
    known = {path.parent.name: path for path in pages().glob("*/README.md")}
    folder = catalogue_entry(name).page if name in model_names() else name
    if name not in CATALOGUE and folder and Path(folder).is_file():
        return Path(folder)
    if folder not in known:
        raise ProgramError(f"there is no page {name!r}; there are {', '.join(sorted(known))}")
    return known[folder]


def beside(page: Path) -> list[Path]:
    """Return the files of a page: the textbook and other files in its folder, and notebooks that name the folder."""
    own = [path for path in sorted(page.parent.iterdir()) if path != page and path.name != "__pycache__"]
    notebooks = sorted((page.parents[1] / "notebooks").glob("*.ipynb"))
    return own + [path for path in notebooks if page.parent.name in read_text(path, path.name, ProgramError)]


def instances() -> dict[str, Path]:
    """Return the files of the catalogue's instances of best responses, by name; errors as of `pages`."""
    return {path.stem: path for path in sorted(pages().glob("*/instances/*.toml"))}


def build_model(name: str, numbers: Mapping[str, object] | None = None) -> Model:
    """Return a model of the catalogue, built from plain numbers.

    Parameters
    ----------
    name
        One of `model_names()`.
    numbers
        Arguments by name; lists become arrays. Left out: those of the small example.

    Examples
    --------
    >>> build_model("isotonic_regression", {"values": [2, 1]}).solve().value["s"].tolist()
    [1.5, 1.5]
    """
    entry = catalogue_entry(name)
    given = dict(entry.example if numbers is None else numbers)
    try:
        arguments = {key: _array(value, entry.types.get(key, np.float64)) for key, value in given.items()}
    except (TypeError, ValueError) as problem:
        raise ProgramError(f"{name}: a list is no array of numbers: {problem}") from problem
    build = cast("_Build", entry.build)
    try:
        known = inspect.signature(build).parameters
    except (TypeError, ValueError) as problem:  # from outside: a type, say
        raise ProgramError(f"{name} is built by {build!r}, whose arguments have no names") from problem
    needed = [key for key, parameter in known.items() if parameter.default is inspect.Parameter.empty]
    unknown = [key for key in given if key not in known]
    missing = [key for key in needed if key not in given]
    if unknown or missing:
        raise ProgramError(
            f"{name} takes {', '.join(known)}; found {', '.join(map(repr, given)) or 'nothing'}"
            + (f"; {', '.join(missing)} must be given" if missing else "")
        )
    faults = (TypeError, ValueError, ArithmeticError, AttributeError, IndexError) if name in CATALOGUE else (Exception,)
    try:
        model: object = build(**arguments)
    except ProgramError:
        raise
    except faults as problem:
        raise ProgramError(f"{name} cannot be built from these numbers: {problem}") from problem
    if not isinstance(model, Model):
        raise ProgramError(f"{name} builds a {type(model).__name__}; expected a dpopt.models.Model")
    return model


def _array(value: object, kind: type) -> object:
    if not isinstance(value, list) or kind is list:
        return value
    given = [np.nan if one is None else one for one in value] if kind is np.float64 else value
    array = np.asarray(cast("list[float]", given))
    if array.dtype == np.object_ or not (np.issubdtype(array.dtype, np.number) or array.dtype == np.bool_):
        raise ValueError(f"found {value!r:.60}")
    with np.errstate(invalid="ignore"):  # of numbers that do not fit; they are compared
        kept = np.array_equal(array, array.astype(kind), equal_nan=True)
    if not kept:
        raise ValueError(f"expected whole numbers, found {value!r:.60}")
    return array.astype(kind)
