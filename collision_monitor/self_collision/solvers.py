# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Solvers of dense and sparse quadratic programs, and optional packages of adjustments.

Both minimise x'Hx / 2 + g'x and return x, or None if the solver finds no solution.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np
from scipy import sparse

from collision_monitor.common.lazy_imports import optional_dependency

QP_SOLVERS = ("daqp", "piqp")  # of the method robust
POINTS = "daqp"  # of streams of points
RETIMING = "toppra"
_NEED = "adjusting motions needs daqp and piqp; the method field needs neither"

_SOFT, _HARD = 8, 0  # kinds of a constraint, in daqp
_SOLVED = (1, 2)  # exit flags of daqp: optimal, and optimal with soft constraints violated
_EXACT = 1e-5  # accuracy of a sparse program, which is one of a sequence


def dense_solver() -> Callable[..., np.ndarray | None]:
    """``solve(H, g, rows, least, lower, upper)`` for a small program with few constraints.

    lower <= x <= upper is hard, rows x >= least is soft. By daqp (Arnstrom, Bemporad, Axehill, IEEE
    T-AC 67(8), 2022).

    Raises:
        MissingDependencyError: daqp is not installed.
    """
    with optional_dependency(_NEED, "adjust"):
        import daqp

    def solve(
        hessian: np.ndarray,
        gradient: np.ndarray,
        rows: np.ndarray,
        least: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
    ) -> np.ndarray | None:
        kinds = np.repeat(np.array([_HARD, _SOFT], dtype=np.int32), [len(lower), len(least)])
        x, _, flag, _ = daqp.solve(
            hessian,
            gradient,
            np.ascontiguousarray(rows),
            np.concatenate([upper, np.full(len(least), 1e30)]),
            np.concatenate([lower, least]),
            kinds,
        )
        return x if flag in _SOLVED and np.isfinite(x).all() else None

    return solve


def sparse_solver() -> Callable[..., np.ndarray | None]:
    """``solve(H, g, rows, low, high, lower, upper)`` for a program over a chain of knots.

    Subject to low <= rows x <= high and lower <= x <= upper. By piqp (Schwan, Jiang, Kuhn, Jones,
    CDC 2023).

    Raises:
        MissingDependencyError: piqp is not installed.
    """
    with optional_dependency(_NEED, "adjust"):
        import piqp

    def solve(
        hessian: sparse.csc_matrix,
        gradient: np.ndarray,
        rows: sparse.spmatrix,
        low: np.ndarray,
        high: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
    ) -> np.ndarray | None:
        program = piqp.SparseSolver()
        program.settings.kkt_solver = piqp.KKTSolver.sparse_multistage
        program.settings.eps_abs = program.settings.eps_rel = _EXACT
        program.settings.check_duality_gap = False
        program.setup(hessian, gradient, None, None, rows.tocsc(), low, high, lower, upper)
        status = program.solve()
        x = np.asarray(program.result.x)
        if status != piqp.PIQP_SOLVED or not np.isfinite(x).all():
            return None
        return np.clip(x, lower, upper)

    return solve


def missing() -> tuple[str, ...]:
    """Names of the packages for adjustments that cannot be imported."""
    absent = []
    for name in (*QP_SOLVERS, RETIMING):
        try:
            import_module(name)
        except ImportError:
            absent.append(name)
    return tuple(absent)
