# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Solvers of quadratic programs are found, and what is missing is named with its cure."""

import sys

import numpy as np
import pytest

from collision_monitor.errors import MissingDependencyError
from collision_monitor.self_collision.solvers import QP_SOLVERS, RETIMING, missing, solver


def test_daqp_solves_a_program():
    daqp = pytest.importorskip("daqp")
    assert solver("daqp") is daqp
    # The least |x|^2 with x0 + x1 >= 2 is at (1, 1).
    found = daqp.solve(np.eye(2), np.zeros(2), np.ones((1, 2)), np.array([1e30]), np.array([2.0]))
    assert np.allclose(found[0], 1.0)


def test_a_missing_solver_is_named_with_its_cure():
    with pytest.raises(MissingDependencyError, match=r"collision_monitor\[adjust\]"):
        solver("no_solver_of_this_name")


def test_what_cannot_be_imported_is_missing(monkeypatch):
    for name in (*QP_SOLVERS, RETIMING):
        pytest.importorskip(name)
    assert missing() == ()
    monkeypatch.setitem(sys.modules, "piqp", None)
    monkeypatch.setitem(sys.modules, "toppra", None)
    assert missing() == ("piqp", "toppra")
