# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""An ultrasonic ranger at the tool of the space arm, simulated by rays against the meshes.

It knows nothing of leaves, boxes or distances: a cone of rays along the tool meets the triangles of
the station, the nearest hit is the range, and noise is added. A reading is published one cycle
after the pose in which it was taken, and the sensor has an alarm of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor import CollisionModel

# A usual ranger for short distances: a beam of 15 degrees, 1 mm of resolution, and readings that
# scatter by 2 mm.
HALF_BEAM = np.radians(7.5)
RESOLUTION, SCATTER = 1e-3, 2e-3  # m
CIRCLES, AROUND = 4, 12  # rays: one along the axis, and 12 on each of 4 cones
LINK = "tool"  # rays start at its origin, along z


@dataclass(frozen=True)
class Sensor:
    """The arm approaches the hull as seen by the monitor and by the sensor at its tool.

    Attributes:
        times: (n,) seconds.
        computed: (n,) distance of the leaves of the tool and the hull, metres.
        measured: (n,) reading of the sensor; NaN before the first.
        alarm: (n,) bool: a pair of leaves is nearer than the threshold.
        sensor_alarm: (n,) bool: the reading is below the threshold.
    """

    times: np.ndarray
    computed: np.ndarray
    measured: np.ndarray
    alarm: np.ndarray
    sensor_alarm: np.ndarray

    def summary(self) -> dict[str, float]:
        """Times and distances of both alarms, and how far readings are from computed distances."""
        k, j = int(np.argmax(self.alarm)), int(np.argmax(self.sensor_alarm))
        apart = self.computed[:-1] > 0.0
        off = (self.measured[1:] - self.computed[:-1])[apart]
        return {
            "alarm_s": float(self.times[k]), "alarm_m": float(self.computed[k]),
            "sensor_alarm_s": float(self.times[j]), "sensor_alarm_m": float(self.measured[j]),
            "mean_off_m": float(off.mean()), "scatter_m": float(off.std()),
            "most_off_m": float(np.abs(off).max()),
        }  # fmt: skip


def rays() -> np.ndarray:
    """Directions (n, 3) of the beam, in the frame of the sensor."""
    tilts = np.repeat(HALF_BEAM * np.arange(1, CIRCLES + 1) / CIRCLES, AROUND)
    turns = np.tile(2.0 * np.pi * np.arange(AROUND) / AROUND, CIRCLES)
    cone = [np.sin(tilts) * np.cos(turns), np.sin(tilts) * np.sin(turns), np.cos(tilts)]
    return np.vstack([[0.0, 0.0, 1.0], np.transpose(cone)])


def cast(origin: np.ndarray, directions: np.ndarray, corners: np.ndarray) -> float:
    """Distance to the first of triangles (m, 3, 3) that rays (n, 3) hit; infinite without a hit.

    After Moeller and Trumbore, J. Graphics Tools 2(1), 1997.
    """
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(directions[:, None], second)
    scale = (across * first).sum(axis=2)
    start = origin - corners[:, 0]
    turned = np.cross(start, first)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = (across * start).sum(axis=2) / scale
        v = directions @ turned.T / scale
        along = (turned * second).sum(axis=1) / scale
    hit = (np.abs(scale) > 1e-12) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (along > 0.0)
    return float(along[hit].min(initial=np.inf))


def readings(model: CollisionModel, configurations: np.ndarray, seed: int = 0) -> np.ndarray:
    """Range (n,) of the sensor at every configuration, with noise; metres."""
    rng = np.random.default_rng(seed)
    station = [
        (name, shape) for name, link in model.robot.links.items() for shape in link.shapes
        if shape.kind == "mesh" and not name.startswith("arm_")
    ]  # fmt: skip
    still = model.link_poses(configurations[0])
    corners = []
    for name, shape in station:
        pose = still[name] @ shape.pose
        corners.append((shape.vertices @ pose[:3, :3].T + pose[:3, 3])[shape.triangles])
    corners, beam = np.concatenate(corners), rays()
    poses = [model.link_poses(q)[LINK] for q in configurations]
    true = [cast(pose[:3, 3], beam @ pose[:3, :3].T, corners) for pose in poses]
    noisy = np.array(true) + SCATTER * rng.normal(size=len(configurations))
    return np.maximum(RESOLUTION * np.round(noisy / RESOLUTION), 0.0)


def experiment(model: CollisionModel, rows: np.ndarray, cycle: float, threshold: float) -> Sensor:
    """The experiment of the paper: the sensor beside the computed distance, and both alarms."""
    pair = next(pair for pair in model.pairs if set(pair) == {"arm_link_7", "lab_module_1"})
    computed = model.twin([pair]).min_distances(rows)
    ranges = np.where(computed > 0.0, readings(model, rows), 0.0)  # in the hull there is no echo
    measured = np.concatenate([[np.nan], ranges[:-1]])
    times = cycle * np.arange(len(rows))
    alarm = model.min_distances(rows) <= threshold
    return Sensor(times, computed, measured, alarm, measured <= threshold)
