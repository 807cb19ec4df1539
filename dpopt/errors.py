"""Every error that dpopt raises on purpose, one family, and its one warning.

Messages carry public values only and say what was found, what was expected and what to do. The one exception is
`PrivateDataError`, which may quote the table: it is for the owner's terminal and never crosses into a release.
"""

from __future__ import annotations


class DpoptError(Exception):
    """Root of every error of dpopt."""


class SchemaError(DpoptError, ValueError):
    """A schema that cannot be used: unknown keys, duplicate names, bad bins, an undeclared attribute or value."""


class RulesError(SchemaError):
    """Rules on records that no record can obey together."""


class WorkloadError(DpoptError, ValueError):
    """A workload that cannot be built: unknown form, too many cells, an attribute twice in one clause."""


class TreeError(DpoptError, ValueError):
    """A hierarchy that is no tree over the bins, or whose bins its measurements do not determine."""


class AccountingError(DpoptError, ValueError):
    """Privacy parameters for which no sound figure exists."""


class BudgetError(DpoptError, ValueError):
    """A charge that the ledger does not allow."""


class PlanError(DpoptError, ValueError):
    """A run that cannot be planned with the numbers given."""


class ProgramError(DpoptError, ValueError):
    """An optimization program whose arrays do not fit together."""


class PolynomialError(DpoptError, ValueError):
    """A target that cannot be approximated as asked, or a certificate that does not hold."""


class NoSolutionError(DpoptError, ValueError):
    """A solution was required of a result that holds none."""


class SolverUnavailableError(DpoptError, RuntimeError):
    """The solver asked for cannot run here; the message says why and how to get it."""


class TranscriptError(DpoptError, ValueError):
    """A transcript that is damaged or does not belong to its plan."""


class ReleaseFolderError(DpoptError, OSError):
    """A release folder that cannot be written, or is not what the command expects."""


class PrivacyBoundaryError(DpoptError, TypeError):
    """An attempt to take records out of the private side by a door that does not exist."""


class PrivateDataError(DpoptError, ValueError):
    """Something is wrong with the table. May quote private values: for the owner's terminal only, never stored."""


class PrivacyWarning(UserWarning):
    """What was asked for is done, and protects less than one may think; public values only."""
