# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Solvers of quadratic programs are found, and what is missing is named with its cure."""

import sys

import numpy as np
import pytest
from scipy import sparse

from collision_monitor.errors import MissingDependencyError
from collision_monitor.self_collision.solvers import (
    QP_SOLVERS,
    RETIMING,
    dense_solver,
    missing,
    sparse_solver,
)


def test_both_solvers_find_a_minimum():
    for name in QP_SOLVERS:
        pytest.importorskip(name)
    # The least |x|^2 with x0 + x1 >= 2 and |x| <= 5 is at (1, 1).
    rows, least, wide = np.ones((1, 2)), np.array([2.0]), np.full(2, 5.0)
    assert dense_solver()(np.eye(2), np.zeros(2), rows, least, -wide, wide) == pytest.approx(1.0)
    sparsely = sparse_solver()(
        sparse.eye(2, format="csc"), np.zeros(2), sparse.csc_matrix(rows), least,
        np.array([np.inf]), -wide, wide,
    )  # fmt: skip
    assert sparsely == pytest.approx([1.0, 1.0], abs=1e-4)
    # Clearances that cannot be had are soft in the dense program, and none is the sparse answer.
    near, far = np.full(2, 0.5), np.array([np.inf])
    assert dense_solver()(np.eye(2), np.zeros(2), rows, least, -near, near) == pytest.approx(0.5)
    program = (sparse.eye(2, format="csc"), np.zeros(2), sparse.csc_matrix(rows), least, far)
    assert sparse_solver()(*program, -near, near) is None


@pytest.mark.parametrize(("name", "make"), [("daqp", dense_solver), ("piqp", sparse_solver)])
def test_a_missing_solver_is_named_with_its_cure(monkeypatch, name, make):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match=r"collision_monitor\[adjust\]"):
        make()


def test_what_cannot_be_imported_is_missing(monkeypatch):
    for name in (*QP_SOLVERS, RETIMING):
        pytest.importorskip(name)
    assert missing() == ()
    monkeypatch.setitem(sys.modules, "piqp", None)
    monkeypatch.setitem(sys.modules, "toppra", None)
    assert missing() == ("piqp", "toppra")
