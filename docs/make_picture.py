# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Make the picture of the README: the demo's motion, seen and measured.

Run it with ``make docs PAGES=picture``; it writes docs/dual_arm.png.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion
from collision_monitor.viewer.picture import render

ROOT = Path(__file__).resolve().parents[1]
WARN, STOP = 0.05, 0.005  # as the demo has them
INSTANTS = (10.0, 43.0, 50.0)  # of the motion; one picture each


def main() -> None:
    """Render three instants of the motion above the curve of its clearance."""
    model = CollisionModel.from_urdf(
        ROOT / "urdf/dual_arm.urdf",
        srdf=ROOT / "urdf/dual_arm.srdf",
        scene=ROOT / "urdf/dual_arm_scene.yaml",
    )
    motion = read_motion(ROOT / "config/dual_arm_motion.csv")
    order = [motion.joint_names.index(name) for name in model.joint_names]
    times = np.linspace(0.0, motion.duration, 1200)
    clearance = model.min_distances(np.array([motion.at(t)[order] for t in times]))

    figure = plt.figure(figsize=(12, 6.6), dpi=100)
    grid = figure.add_gridspec(
        2, 3, height_ratios=[2.6, 1], left=0.06, right=0.985, top=0.95, bottom=0.1,
        wspace=0.02, hspace=0.1,
    )  # fmt: skip
    for column, instant in enumerate(INSTANTS):
        q = motion.at(instant)[order]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "robot.png"
            render(
                model, q, path, warn=WARN, stop=STOP, size=(1000, 1000),
                direction=(1.0, 0.45, 0.42), zoom=1.06,
            )  # fmt: skip
            picture = plt.imread(path)
        axes = figure.add_subplot(grid[0, column])
        axes.imshow(picture)
        axes.axis("off")
        axes.set_title(f"t = {instant:g} s, {1000.0 * model.distance(q).distance:.0f} mm")

    axes = figure.add_subplot(grid[1, :])
    axes.axhspan(STOP, WARN, color="#f5bf26", alpha=0.25, label="WARN")
    axes.axhspan(-1.0, STOP, color="#db2929", alpha=0.25, label="ERROR")
    axes.plot(times, clearance, color="#1d3557", label="minimum distance")
    axes.plot(INSTANTS, np.interp(INSTANTS, times, clearance), "o", color="#1d3557")
    axes.set_xlim(0.0, motion.duration)
    axes.set_ylim(min(-0.02, clearance.min() - 0.02), 1.1 * clearance.max())
    axes.set_xlabel("time of the motion [s]")
    axes.set_ylabel("distance [m]")
    axes.legend(loc="upper right", ncols=3, frameon=False)
    figure.savefig(ROOT / "docs/dual_arm.png")


if __name__ == "__main__":
    main()
