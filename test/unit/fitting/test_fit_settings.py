# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Budget and aim of a fit."""

import math

import pytest

from collision_monitor.errors import FitError
from collision_monitor.fitting.shapes import FitSettings


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_leaves_per_link", 0), ("max_leaves_per_link", 65), ("max_leaves_per_link", 2.5),
     ("leaf_tolerance", -0.001), ("leaf_tolerance", math.nan), ("leaf_tolerance", math.inf)],
)  # fmt: skip
def test_what_means_nothing_is_refused_by_name(field, value):
    with pytest.raises(FitError, match=field):
        FitSettings(**{field: value})


def test_the_defaults_stand():
    assert FitSettings() == FitSettings(8, 0.002)
