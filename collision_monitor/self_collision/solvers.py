# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The packages that only adjusting needs: solvers of quadratic programs, and toppra."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from collision_monitor.errors import MissingDependencyError

QP_SOLVERS = ("daqp", "piqp")  # of the method robust
POINTS = "daqp"  # of streams of points
RETIMING = "toppra"


def solver(name: str) -> ModuleType:
    """The module of the solver ``name``: ``daqp`` for small programs, ``piqp`` for sparse ones.

    daqp: Arnstrom, Bemporad, Axehill, IEEE T-AC 67(8), 2022; piqp: Schwan, Jiang, Kuhn, Jones,
    CDC 2023.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise MissingDependencyError(
            "adjusting motions needs daqp and piqp: pip install 'collision_monitor[adjust]'; the "
            "method published needs neither"
        ) from None


def missing() -> tuple[str, ...]:
    """Names of those packages that cannot be imported."""
    found = []
    for name in (*QP_SOLVERS, RETIMING):
        try:
            import_module(name)
        except ImportError:
            found.append(name)
    return tuple(found)
