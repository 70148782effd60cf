# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Results of `adjust` never touch: random motions of real robots, judged by `verify` and coal."""

import pytest
from support.robots.judged_motions import judge
from support.robots.robots import load_model, require

from collision_monitor.self_collision import find_chains

for package in ("daqp", "piqp"):
    pytest.importorskip(package, reason=f"{package} is not installed")

POSTS = {
    "obstacles": [
        {"name": f"post_{k}", "type": "cylinder", "radius": 0.04, "length": 0.8, "position": place}
        for k, place in enumerate(([0.45, 0.3, 0.4], [-0.4, 0.35, 0.4], [0.1, -0.5, 0.4]))
    ]
}


@pytest.mark.parametrize(
    ("name", "scene", "count", "touching"),
    [
        ("baxter", None, 4, False),
        ("ur5", POSTS, 6, False),
        ("ur5", POSTS, 4, True),
        pytest.param("pr2", None, 100, False, marks=pytest.mark.slow),
        pytest.param("baxter", None, 100, True, marks=pytest.mark.slow),
        pytest.param("ur5", POSTS, 100, True, marks=pytest.mark.slow),
    ],
)
def test_no_result_touches(name, scene, count, touching):
    files = require(name)
    model = load_model(name, scene=scene)
    arms = find_chains(model.robot, model.semantics)
    result = judge(model, files, arms, count, seed=1, touching=touching)
    assert not result.wrong
    assert len(result.refused) <= 0.5 * count, result.refused
    assert result.adjusted > 0 or not touching
    if touching:
        assert result.safe == 0
