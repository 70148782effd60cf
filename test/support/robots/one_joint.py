# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robots with masses for tests of torques: one joint, and a light base that floats."""

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.robot.inertials import read_inertials
from collision_monitor.robot.urdf import load_robot
from collision_monitor.verification.torques.dynamics import RobotDynamics

BALL = '<collision><geometry><sphere radius="0.05"/></geometry></collision>'


def heavy(name: str, mass: float, com: str, moments: str = "0.1 0.2 0.2") -> str:
    """A link with mass, its inertia (three moments) about its centre."""
    x, y, z = moments.split()
    return (
        f'<link name="{name}">{BALL}<inertial><origin xyz="{com}"/><mass value="{mass}"/>'
        f'<inertia ixx="{x}" iyy="{y}" izz="{z}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def joint(name: str, parent: str, child: str, axis: str, xyz: str = "0 0 0", more: str = "") -> str:
    """A revolute joint."""
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>'
        f'<limit lower="-3" upper="3" effort="10" velocity="2"/>{more}</joint>'
    )


# About z: 2 kg at 1 m and 0.2 kg m^2 about its own centre.
INERTIA = 2.2
ONE = (
    f'<robot name="one"><link name="base">{BALL}</link>{heavy("arm", 2.0, "1 0 0")}'
    f"{joint('j', 'base', 'arm', '0 0 1')}</robot>"
)
# Two arms as heavy as their base, about axes that differ.
LIGHT = (
    f'<robot name="light">{heavy("base", 2.0, "0.1 0 0")}{heavy("upper", 1.0, "0.4 0 0.1")}'
    f"{heavy('lower', 1.5, '0.3 0.1 0')}{joint('j1', 'base', 'upper', '0 0 1', '0.2 0 0.1')}"
    f"{joint('j2', 'upper', 'lower', '0 1 0.5', '0.6 0 0')}</robot>"
)


def dynamics_of(urdf: str, **options: object) -> RobotDynamics:
    """Dynamics of all joints of a URDF."""
    robot = load_robot(urdf)
    names = [j.name for j in robot.joints if j.moves and j.mimic is None]
    return RobotDynamics(robot, read_inertials(urdf), names, **options)


def speeding(acceleration: float, duration: float) -> Trajectory:
    """One joint from rest at a constant acceleration."""
    c = np.array([0.5 * acceleration, 0.0, 0.0]).reshape(3, 1, 1)
    return Trajectory(("j",), PPoly(c, [0.0, duration]))


def trapezoid(names: tuple[str, ...], way: np.ndarray, total: float, ramp: float) -> Trajectory:
    """All joints by ``way`` (joints,) on one trapezoid of velocity: method C's joint mode."""
    peak = np.asarray(way) / (total - ramp)
    a, z, before = peak / ramp, 0.0 * peak, 0.5 * peak * ramp
    c = np.stack([
        np.stack([a / 2, z, -a / 2]),
        np.stack([z, peak, peak]),
        np.stack([z, before, before + peak * (total - 2 * ramp)]),
    ])  # fmt: skip
    return Trajectory(tuple(names), PPoly(c, [0.0, ramp, total - ramp, total]))


def energy(dynamics: RobotDynamics, q: np.ndarray, v: np.ndarray) -> float:
    """Kinetic and potential energy, J, but for a constant; a floating base has momentum zero."""
    mass, _ = dynamics.terms(q, v)
    weight = 0.0 if dynamics.floating else dynamics.mass * dynamics.gravity
    return float(0.5 * v @ mass @ v - np.sum(weight * dynamics.centre_of_mass(q)))
