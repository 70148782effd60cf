# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The solvers of quadratic programs, which only adjusting needs."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from collision_monitor.errors import MissingDependencyError


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
            "adjusting motions needs daqp and piqp: pip install 'collision_monitor[adjust]'"
        ) from None
