# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robots of example-robot-data as their vendors describe them, and the alarms of a monitor on them.

Each robot rests in a pose for five joint states, 10 ms apart. The last state is compared with the
distances by pinocchio's kinematics and coal on the meshes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from collision_monitor import CollisionModel, Monitor
from collision_monitor.monitoring.monitor import Level, MonitorState
from support.geometry.exact_reference import ExactReference
from support.geometry.reference import Reference
from support.robots.robots import NAMES, ROBOTS, RobotFiles, share_folder

# URDF and SRDF below example-robot-data/robots, of robots that other tests do not use.
_MORE = {
    "ur3": ("ur_description/urdf/ur3_robot.urdf", "ur_description/srdf/ur3.srdf"),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", "ur_description/srdf/ur10.srdf"),
    "z1": ("z1_description/urdf/z1.urdf", "z1_description/srdf/z1.srdf"),
    "so101": ("so_arm_description/urdf/so101.urdf", ""),
    "kinova": ("kinova_description/robots/kinova.urdf", "kinova_description/srdf/kinova.srdf"),
    "allegro": ("allegro_hand_description/urdf/allegro_right_hand.urdf", ""),
    "tiago_pro": ("tiago_pro_description/robots/tiago_pro.urdf", ""),
    "icub": ("icub_description/robots/icub.urdf", "icub_description/srdf/icub.srdf"),
    "romeo": ("romeo_description/urdf/romeo.urdf", "romeo_description/srdf/romeo.srdf"),
    "a1": ("a1_description/urdf/a1.urdf", "a1_description/srdf/a1.srdf"),
    "go1": ("go1_description/urdf/go1.urdf", "go1_description/srdf/go1.srdf"),
    "go2": ("go2_description/urdf/go2.urdf", "go2_description/srdf/go2.srdf"),
    "b1_z1": ("b1_description/urdf/b1-z1.urdf", "b1_description/srdf/b1-z1.srdf"),
    "laikago": ("laikago_description/urdf/laikago.urdf", "laikago_description/srdf/laikago.srdf"),
    "hyq": ("hyq_description/robots/hyq_no_sensors.urdf", "hyq_description/srdf/hyq.srdf"),
    "anymal_b": (
        "anymal_b_simple_description/robots/anymal.urdf",
        "anymal_b_simple_description/srdf/anymal.srdf",
    ),
    "anymal_c": (
        "anymal_c_simple_description/urdf/anymal.urdf",
        "anymal_c_simple_description/srdf/anymal.srdf",
    ),
    "solo12": ("solo_description/robots/solo12.urdf", "solo_description/srdf/solo.srdf"),
    "bolt": ("bolt_description/robots/bolt.urdf", "bolt_description/srdf/bolt.srdf"),
    "tiago": ("tiago_description/robots/tiago.urdf", ""),
    "tiago_no_hand": ("tiago_description/robots/tiago_no_hand.urdf", ""),
    "alex": (
        "alex_description/urdf/alex_nub_hands.urdf",
        "alex_description/srdf/alex_nub_hands.srdf",
    ),
    "alex_sake": (
        "alex_description/urdf/alex_sake_hands.urdf",
        "alex_description/srdf/alex_sake_hands.srdf",
    ),
    "g1": ("g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf", ""),
    "centauro": (
        "centauro_description/urdf/centauro.urdf",
        "centauro_description/srdf/centauro.srdf",
    ),
    "so100": ("so_arm_description/urdf/so100.urdf", ""),
    "ur3_gripper": ("ur_description/urdf/ur3_gripper.urdf", "ur_description/srdf/ur3_gripper.srdf"),
    "ur5_gripper": ("ur_description/urdf/ur5_gripper.urdf", "ur_description/srdf/ur5_gripper.srdf"),
    "anymal_kinova": (
        "anymal_b_simple_description/robots/anymal-kinova.urdf",
        "anymal_b_simple_description/srdf/anymal-kinova.srdf",
    ),
    "solo": ("solo_description/robots/solo.urdf", "solo_description/srdf/solo.srdf"),
    "quadruped": ("quadruped_description/urdf/quadruped.urdf", ""),
    "finger_edu": (
        "finger_edu_description/robots/finger_edu.urdf",
        "finger_edu_description/srdf/finger_edu.srdf",
    ),
    "borinot": (
        "borinot_description/urdf/borinot_flying_arm_2.urdf",
        "borinot_description/srdf/borinot_flying_arm_2.srdf",
    ),
    "hextilt": (
        "hextilt_description/urdf/hextilt_flying_arm_5.urdf",
        "hextilt_description/srdf/hextilt_flying_arm_5.srdf",
    ),
}
VENDOR_NAMES = (*NAMES, *_MORE)
_STATES, _PERIOD = 5, 0.01
_ZERO_CONFIRMED = 50  # states after which a monitor believes that all joints are at zero
_SAME = 1e-6  # metres between two libraries


def vendor_files(name: str) -> RobotFiles | None:
    """Files of one of `VENDOR_NAMES`; None where example-robot-data is not installed."""
    share = share_folder()
    if share is None:
        return None
    if name in ROBOTS:
        return ROBOTS[name]
    robots = share / "example-robot-data" / "robots"
    urdf, srdf = (robots / path if path else None for path in _MORE[name])
    return RobotFiles(urdf, srdf, (share,))


def has_srdf(files: RobotFiles) -> bool:
    """Whether the SRDF of a robot exists."""
    return files.srdf is not None and files.srdf.exists()


def with_reference(
    files: RobotFiles, with_srdf: bool = False, **options: Any
) -> tuple[CollisionModel, ExactReference]:
    """A robot by its URDF alone or its SRDF as well, and coal's distances of it.

    ``options``: of `CollisionModel.from_urdf`; by default its defaults.
    """
    given = files.srdf if with_srdf and has_srdf(files) else None
    model = CollisionModel.from_urdf(files.urdf, given, files.package_dirs, **options)
    return model, ExactReference(model, Reference(files.urdf, files.package_dirs, model))


def true_distances(
    model: CollisionModel, coal: ExactReference, q: np.ndarray, reach: float
) -> np.ndarray:
    """(pairs,) distances by coal of the pairs whose leaves are within ``reach``; others inf."""
    out = np.full(len(model.pairs), np.inf)
    for k in np.flatnonzero(model.distances(q) <= reach):
        out[k] = coal.distance(q, model.pairs[k])
        if out[k] > 0.0 and coal.holds(q, model.pairs[k]):
            out[k] = 0.0
    return out


def at_rest(monitor: Monitor, q: np.ndarray) -> MonitorState:
    """The state of a monitor whose robot rests in ``q`` (nq,)."""
    count = _STATES if np.any(q) else _ZERO_CONFIRMED
    for k in range(count):
        state = monitor.update(monitor.model.joint_names, q, now=100.0 + _PERIOD * k)
    return state


@dataclass
class Alarms:
    """In how many poses something was reported.

    Attributes:
        poses: all of them.
        stop, warn: with a stop; with a warning or stop.
        false_stop, false_warn: of these, with no pair within its stop (warning) distance by coal.
        missed: with a contact by coal that is no stop.
        above: in which the reported distance is larger than coal's, of the pairs that count.
    """

    poses: int
    stop: int = 0
    false_stop: int = 0
    warn: int = 0
    false_warn: int = 0
    missed: int = 0
    above: int = 0


def count_alarms(model: CollisionModel, coal: ExactReference, rows: np.ndarray) -> Alarms:
    """Alarms of a monitor with defaults in poses (n, nq)."""
    counts = Alarms(len(rows))
    for q in rows:
        monitor = Monitor(model)
        state = at_rest(monitor, q)
        limits = monitor.behaviour.thresholds
        real = true_distances(model, coal, q, monitor.behaviour.exact_within)
        is_stop, is_warn = state.level is Level.ERROR, state.level is not Level.OK
        counts.stop += is_stop
        counts.warn += is_warn
        counts.false_stop += is_stop and not (real <= limits[:, 0] + _SAME).any()
        counts.false_warn += is_warn and not (real <= limits[:, 1] + _SAME).any()
        counts.missed += bool((real <= 0.0).any()) and not is_stop
        left_out = set(monitor.not_counted)
        always = np.array([pair not in left_out for pair in model.pairs])
        counting = always | (real <= limits[:, 1] - _SAME)
        counts.above += bool(state.distance > max(0.0, real[counting].min(initial=np.inf)) + _SAME)
    return counts


def count_missed(
    model: CollisionModel, coal: ExactReference, rows: np.ndarray
) -> tuple[int, list[tuple[str, str]]]:
    """How many poses (n, nq) coal finds in contact, and a pair of each not reported as one."""
    monitor, contacts, missed = Monitor(model), 0, []
    for k, q in enumerate(rows):
        distance, pair = coal.least(q, 0.0)
        if distance <= 0.0:
            contacts += 1
            # So long after the last pose that the robot is slow.
            state = monitor.update(model.joint_names, q, now=1e4 * (k + 1))
            # An earlier stop may be held: the distance shows that this contact was seen.
            if state.level is not Level.ERROR or state.distance > 0.0:
                missed.append(pair)
    return contacts, missed
