# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Random robots: distances, levels and messages against pinocchio and coal."""

import numpy as np
import pytest
import trimesh
from support.geometry.exact_reference import ExactReference
from support.geometry.reference import Reference
from support.robots import toys
from support.robots.vendor_robots import count_alarms, true_distances

from collision_monitor import CollisionModel, Monitor
from collision_monitor.monitoring.monitor import Level

SEEDS = range(12)
KINDS = ("revolute", "revolute", "revolute", "continuous", "prismatic", "fixed")


def text(values):
    """Numbers as URDF has them."""
    return " ".join(repr(float(value)) for value in values)


class RandomRobot:
    """A tree of joints of all kinds, with links of up to three shapes, some of them mirrored."""

    def __init__(self, seed, folder):
        self._rng, self._folder = np.random.default_rng(seed), folder
        rng, names, moving = self._rng, ["l0"], []
        parts = [self._link("l0", 1)]
        for k in range(1, int(rng.integers(4, 9))):
            names.append(f"l{k}")
            parts.append(self._link(names[-1], rng.choice([0, 1, 1, 2, 3])))
            kind = rng.choice(KINDS)
            limits = (-rng.uniform(0.1, 2.5), rng.uniform(0.1, 2.5))
            extra = ""
            if kind == "prismatic":
                limits = (0.0, rng.uniform(0.1, 0.3))
            elif moving and rng.random() < 0.2:
                extra = f'<mimic joint="{rng.choice(moving)}" multiplier="{rng.uniform(-1, 1)}"/>'
            way = rng.normal(size=3)
            parts.append(
                toys.joint(
                    f"j{k}", names[rng.integers(max(0, k - 2), k)], names[-1], kind,
                    text(way * rng.uniform(0.1, 0.3) / np.linalg.norm(way)),
                    text(rng.normal(size=3)), extra, limits,
                )
            )  # fmt: skip
            if kind in ("revolute", "continuous") and not extra:
                moving.append(f"j{k}")
        self.urdf = folder / "robot.urdf"
        self.urdf.write_text(toys.robot(*parts))
        self.model = CollisionModel.from_urdf(self.urdf, max_leaves_per_link=2)
        self.coal = ExactReference(self.model, Reference(self.urdf, [], self.model))

    def _link(self, name, count):
        rng, shapes = self._rng, []
        for k in range(count):
            kind = rng.choice(["box", "cylinder", "sphere", "hull", "ring"])
            size = rng.uniform(0.02, 0.08)
            if kind == "box":
                shape = f'<box size="{text(rng.uniform(0.02, 0.2, 3))}"/>'
            elif kind == "cylinder":
                shape = f'<cylinder radius="{size}" length="{rng.uniform(0.03, 0.3)}"/>'
            elif kind == "sphere":
                shape = f'<sphere radius="{size}"/>'
            else:
                mesh = trimesh.creation.torus(size, 0.3 * size, 12, 8)
                if kind == "hull":
                    mesh = trimesh.convex.convex_hull(rng.normal(0.0, 0.05, (20, 3)))
                file = self._folder / f"{name}_{k}.stl"
                mesh.export(file)
                scale = rng.uniform(0.6, 1.6, 3) * rng.choice([-1.0, 1.0, 1.0], 3)
                shape = f'<mesh filename="{file}" scale="{text(scale)}"/>'
            place = f'xyz="{text(rng.normal(0.0, 0.05, 3))}" rpy="{text(rng.uniform(-3, 3, 3))}"'
            shapes.append(f"<collision><origin {place}/><geometry>{shape}</geometry></collision>")
        return f'<link name="{name}">{"".join(shapes)}</link>'


@pytest.fixture(scope="module", params=SEEDS)
def robot(request, tmp_path_factory):
    return RandomRobot(request.param, tmp_path_factory.mktemp("robot"))


def test_levels_at_rest_are_those_of_coal(robot):
    counts = count_alarms(robot.model, robot.coal, robot.model.random_configurations(12, 1))
    assert (counts.missed, counts.above) == (0, 0)
    assert (counts.false_stop, counts.false_warn) == (0, 0)


def test_a_moving_robot_in_contact_is_an_error_that_says_so(robot):
    """It moves to and fro, so that links in contact move away, while others come nearer."""
    model, monitor, now = robot.model, Monitor(robot.model), 0.0
    for begin, end in model.random_configurations(8, 2).reshape(4, 2, -1):
        now += 10.0
        for angle in np.linspace(0.0, 2.0 * np.pi, 120):
            now += 0.02
            q = begin + 0.5 * (1.0 - np.cos(angle)) * (end - begin)
            velocities = 0.5 * np.sin(angle) * (end - begin) * 2.0 * np.pi / (119 * 0.02)
            state = monitor.update(model.joint_names, q, now, now, velocities=velocities)
            if state.distance > 0.0:
                assert (true_distances(model, robot.coal, q, 0.0) > 0.0).all()
            else:
                assert state.level is Level.ERROR
                assert "collision: " in state.message and "held" not in state.message
