# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Make the picture of docs/adjust.md: three motions before and after `adjust`, and their distances.

    python docs/make_adjusted_pictures.py

It writes docs/adjusted_motions.png: both arms of the package's robot on its motion; its right arm
alone, past a ball; and both, one of them through the torso. Left and middle: the instant at which
the desired motion is deepest in contact, leaves coloured by clearance. Right: the distance of the
meshes over time, of all pairs that are checked. Needs the extras ``adjust`` and ``picture``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from collision_monitor import CollisionModel, adjust
from collision_monitor.motion import Motion, read_motion
from collision_monitor.viewer.picture import render

ROOT = Path(__file__).resolve().parents[1]
BEFORE, AFTER = "#8d99ae", "#1d3557"
SIZE = 700  # pixels
SAMPLES = 400
RIGHT = tuple(f"right_joint_{k}" for k in range(1, 8))
BALL = {"name": "ball", "type": "sphere", "radius": 0.06}


def load(**options: object) -> CollisionModel:
    """The package's robot with two arms."""
    return CollisionModel.from_urdf(
        ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf", **options
    )


def along(model: CollisionModel, motion: Motion, times: np.ndarray) -> np.ndarray:
    """Configurations (n, nq) of a motion; joints that it does not name are at zero."""
    rows = np.zeros((len(times), len(model.joint_names)))
    columns = [model.joint_names.index(name) for name in motion.joint_names]
    rows[:, columns] = [motion.at(t) for t in times]
    return rows


def straight(names: tuple[str, ...], start: np.ndarray, end: np.ndarray) -> Motion:
    """A motion of eight seconds at even speed, in 61 waypoints."""
    times = np.linspace(0.0, 8.0, 61)
    return Motion(names, times, start + times[:, None] / times[-1] * (end - start))


def cases() -> Iterator[tuple[str, CollisionModel, Motion]]:
    """(title, model, desired motion)."""
    scene = ROOT / "urdf/dual_arm_scene.yaml"
    yield "both arms", load(scene=scene), read_motion(ROOT / "config/dual_arm_motion.csv")
    motion = straight(
        RIGHT, np.array([0.5, 0.6, 0.0, 0.8, 0.0, 0.5, 0.0]),
        np.array([-0.9, 0.6, 0.0, 0.8, 0.0, 0.5, 0.0]),
    )  # fmt: skip
    plain = load()
    rows = along(plain, motion, motion.times)
    tool = plain.link_poses(rows[len(rows) // 2])["right_link_7"][:3, 3]
    ball = BALL | {"position": [float(x) for x in tool]}
    yield "one arm and a ball", load(scene={"obstacles": [ball]}), motion
    rng = np.random.default_rng(4)
    while True:
        swap = straight(plain.joint_names, *rng.uniform(-1.4, 1.4, (2, 14)))
        least = plain.min_distances(along(plain, swap, swap.times))
        if min(least[0], least[-1]) > 0.15 and least.min() < -0.08:
            yield "an arm and the torso", plain, swap
            return


def picture(model: CollisionModel, q: np.ndarray) -> np.ndarray:
    """The robot at ``q``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.png"
        render(
            model, q, path, warn=0.1, stop=0.0, size=(SIZE, SIZE), direction=(1.0, 0.45, 0.42),
            zoom=1.06,
        )  # fmt: skip
        return plt.imread(path)


def main() -> None:
    """Adjust three motions and draw them."""
    figure = plt.figure(figsize=(12, 11.4), dpi=72)
    grid = figure.add_gridspec(
        3, 3, width_ratios=[1, 1, 1.25], left=0.01, right=0.985, top=0.96, bottom=0.05,
        wspace=0.2, hspace=0.16,
    )  # fmt: skip
    for k, (title, model, motion) in enumerate(cases()):
        found = adjust(model, motion)
        print(f"{title}: largest change {found.largest_change:.3f} rad, certified "
              f"{min(found.certified, found.certified_elsewhere):.4f} m")  # fmt: skip
        shares = np.linspace(0.0, 1.0, SAMPLES)
        before = along(model, motion, shares * motion.duration)
        after = along(model, found.motion, shares * found.motion.duration)
        curves = [
            np.array([model.distance(q, exact=True).distance for q in rows])
            for rows in (before, after)
        ]
        worst = int(curves[0].argmin())
        for column, (name, rows) in enumerate((("before", before), ("after", after))):
            axes = figure.add_subplot(grid[k, column])
            axes.imshow(picture(model, rows[worst]))
            axes.axis("off")
            axes.set_title(f"{title}, {name}: {1000.0 * curves[column][worst]:.0f} mm", fontsize=10)
        axes = figure.add_subplot(grid[k, 2])
        axes.axhspan(-1.0, 0.0, color="#db2929", alpha=0.2)
        axes.plot(shares * motion.duration, curves[0], color=BEFORE, label="before")
        axes.plot(shares * found.motion.duration, curves[1], color=AFTER, label="after")
        axes.axvline(shares[worst] * motion.duration, color=BEFORE, linewidth=0.8, linestyle=":")
        axes.set_ylim(min(curves[0].min() - 0.01, -0.02), 1.1 * max(map(np.max, curves)))
        axes.set_xlabel("time [s]")
        axes.set_ylabel("distance [m]")
        axes.legend(frameon=False)
    figure.savefig(ROOT / "docs/adjusted_motions.png")


if __name__ == "__main__":
    main()
