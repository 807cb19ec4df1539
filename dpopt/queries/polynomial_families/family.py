"""Families of polynomials, one polynomial for each possible record: what a generic sanitizer adds up and adds noise to.

A family says what a record x contributes to the coefficients of p_D(y) = constant + sum_x p_x(y), and how large that is at
most. Coefficients are whole multiples of a public `unit`, cut towards zero; so sums are exact, noise is integer, and how far
neighbours are apart (`Moves`) is known without rounding.

Source: Thaler, Ullman and Vadhan 2012, Definitions 2.5 and 2.6 and Theorem 3.1, which bounds the distance by 2 T N alone.
"""

from __future__ import annotations

from dpopt.queries.polynomial_families.family_moves import LARGEST_NORM, Moves
from dpopt.queries.polynomial_families.function_family import FunctionFamily
from dpopt.queries.polynomial_families.symmetric_family import SymmetricFamily
from dpopt.queries.polynomial_families.table_family import TableFamily

PolynomialFamily = SymmetricFamily | TableFamily | FunctionFamily
"""One polynomial for each possible record."""

__all__ = ["LARGEST_NORM", "FunctionFamily", "Moves", "PolynomialFamily", "SymmetricFamily", "TableFamily"]
