# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Files of `thresholds` for a robot, without and with a motion, for `vendor_robots.py`."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

import numpy as np
import yaml
from support.robots.robots import RobotFiles
from support.robots.vendor_robots import at_rest

from collision_monitor import CollisionModel, Monitor
from collision_monitor.__main__ import main as command
from collision_monitor.model.sampled_distances import samples_around_zero
from collision_monitor.model.thresholds import Thresholds, load_thresholds
from collision_monitor.monitoring.monitor import Level
from collision_monitor.motion import Motion, write_motion


def printed_thresholds(files: RobotFiles, *options: str) -> Thresholds:
    """What the command ``thresholds`` prints for a robot without an SRDF."""
    given = ["thresholds", str(files.urdf), "--package-dir", str(files.package_dirs[0]), *options]
    out, log = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(log):
        command(given)
    return load_thresholds(yaml.safe_load(out.getvalue()))


def jogged(model: CollisionModel) -> np.ndarray:
    """Rows (n, nq) of a motion in which joints swing one after another; those of legs stand."""
    start = np.clip(0.0, model.lower, model.upper)
    swing = 0.2 * np.sin(np.linspace(0.0, 2.0 * np.pi, 41))
    positions = [start]
    for k, name in enumerate(model.joint_names):
        if not any(leg in name.lower() for leg in ("hip", "knee", "ankle")):
            turned = np.tile(start, (len(swing), 1))
            turned[:, k] += swing
            positions.append(np.clip(turned, model.lower, model.upper))
    return np.vstack(positions)


def learnt(files: RobotFiles, count: int) -> tuple[dict[str, int | float], str]:
    """Shares of stops in ``count`` poses around zero, own distances, and pairs left out."""
    model = CollisionModel.from_urdf(files.urdf, None, files.package_dirs)
    positions = jogged(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motion.csv"
        write_motion(path, Motion(model.joint_names, 0.05 * np.arange(len(positions)), positions))
        files_of = {"before": printed_thresholds(files)}
        files_of["after"] = printed_thresholds(files, "--motion", str(path))
    poses = samples_around_zero(model, count, seed=1)
    figures: dict[str, int | float] = {}
    for which, rules in files_of.items():
        unchecked = rules.patterns(check=False)
        monitored = CollisionModel.from_urdf(
            files.urdf, None, files.package_dirs, unchecked=unchecked
        )
        stops = 0
        for q in poses:
            monitor = Monitor(monitored)
            monitor.set_thresholds(rules)
            stops += at_rest(monitor, q).level is Level.ERROR
        figures[f"stop {which}"] = stops / count
    before, after = (
        {(rule.pattern, rule.warn, rule.stop) for rule in rules.rules if rule.check}
        for rules in files_of.values()
    )
    figures["own distances"] = len(after - before)
    return figures, ", ".join(unchecked)
