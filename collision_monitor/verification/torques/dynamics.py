# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Rigid-body dynamics of a robot with a fixed or floating base, in the joints of a motion.

M(q) qdd + h(q, qd) = tau. No wrench acts on a floating base, so its acceleration follows from the
upper rows, M_bb a_b + M_bq qdd + h_b = 0 (Liu Qian et al., J. NUAA 54(1), 2022), and total momentum
stays zero. Uniform gravity makes such a robot fall without joint torques.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.spatial.transform import Rotation

from collision_monitor.common.lazy_imports import optional_dependency
from collision_monitor.common.text import closest
from collision_monitor.errors import DynamicsError
from collision_monitor.robot.bodies import Bodies, rigid_bodies
from collision_monitor.robot.description import Robot
from collision_monitor.robot.inertials import Inertial
from collision_monitor.verification.torques.actuators import Payload

EARTH = (0.0, 0.0, -9.81)  # m/s^2
_GAUSS = np.sqrt(3.0) / 6.0  # Gauss point: offset from the middle of a step, in steps
LONGEST_TURN = 0.05  # maximum step of the attitude of a floating base, seconds


def pinocchio() -> ModuleType:
    """The module pinocchio (Carpentier et al., The Pinocchio C++ library, SII 2019).

    Raises:
        MissingDependencyError: pinocchio is not installed.
    """
    with optional_dependency("torques need pinocchio", "verify"):
        return import_module("pinocchio")


class RobotDynamics:
    """Dynamics in the joints of a motion; see the module.

    Attributes:
        joint_names: the joints of the motion, the order of q.
        floating: whether the base floats.
        gravity: (3,) m/s^2 in the frame of the root link; for a floating base, that at the start.
        units: of torques: N m, or N for prismatic joints.
        notes: links with missing or invalid masses, joints that move no mass.
    """

    def __init__(
        self,
        robot: Robot,
        inertials: Mapping[str, Inertial],
        joint_names: Sequence[str],
        floating: bool = False,
        gravity: Sequence[float] | None = None,
        payload: Payload | None = None,
    ) -> None:
        """Build the model.

        Args:
            robot: joints and links.
            inertials: of the links, see `robot.inertials.read_inertials`.
            joint_names: moving joints in the order of q; their mimic joints follow them. Others are
                held at 0, or at the nearer limit.
            floating: whether the base floats freely; otherwise it is fixed.
            gravity: (3,) m/s^2; None: (0, 0, -9.81), or zero for a floating base.
            payload: attached to a link, or None.

        Raises:
            DynamicsError: an unknown joint or link, no joint moves a mass, or a floating base
                without mass.
            MissingDependencyError: pinocchio is not installed.
        """
        self._pin = pinocchio()
        bodies = rigid_bodies(robot)
        self.joint_names = tuple(joint_names)
        self.floating = floating
        if gravity is None:
            gravity = (0.0, 0.0, 0.0) if floating else EARTH
        self.gravity = np.array(gravity, dtype=float)
        if self.gravity.shape != (3,) or not np.isfinite(self.gravity).all():
            raise DynamicsError(f"gravity: {gravity!r} is not three finite numbers in m/s^2")
        self._drive, self._offsets = _leading(bodies, self.joint_names)
        slides = {j.name for j in bodies.joints if j.kind == "prismatic"}
        self.units = tuple("N" if name in slides else "N m" for name in self.joint_names)
        carried = {link: [inertial] for link, inertial in inertials.items()}
        if payload is not None:
            if payload.link not in bodies.link_poses:
                raise DynamicsError(_unknown("payload: link", payload.link, bodies.link_poses))
            carried.setdefault(payload.link, []).append(payload.inertial)
        self._model, ids = _built(self._pin, bodies, carried, floating)
        self._model.gravity.linear[:] = 0.0 if floating else self.gravity
        self._data = self._model.createData()
        self._base = 6 if floating else 0
        moving = {name for name, body in bodies.link_bodies.items() if floating or body}
        self.notes = _notes(robot, inertials, moving)
        self.notes += _weightless(self, bodies, ids)

    @property
    def mass(self) -> float:
        """Total moving mass, kg."""
        return float(self._pin.computeTotalMass(self._model))

    def full(self, q: np.ndarray) -> np.ndarray:
        """Positions (nq,) of pinocchio's model, a floating base at the origin."""
        joints = self._drive @ q + self._offsets
        return np.concatenate([[0, 0, 0, 0, 0, 0, 1.0], joints]) if self.floating else joints

    def terms(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M (n, n) and h (n,) in the joints of the motion, a floating base eliminated."""
        full, drive, b = self.full(q), self._drive, self._base
        whole = self._pin.crba(self._model, self._data, full)
        mass, rates = drive.T @ whole[b:, b:] @ drive, drive @ v
        if not self.floating:
            return mass, drive.T @ self._pin.nonLinearEffects(self._model, self._data, full, rates)
        across = whole[:6, 6:] @ drive
        answer = self._solve_base(whole[:6, :6], across)
        rates = np.concatenate([-answer @ v, rates])
        rest = self._pin.nonLinearEffects(self._model, self._data, full, rates)
        return mass - across.T @ answer, drive.T @ rest[6:] - answer.T @ rest[:6]

    def torques(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Torques (n,) of the joints, N m or N, that give accelerations ``a`` (n,)."""
        if self.floating:
            mass, rest = self.terms(q, v)
            return mass @ a + rest
        pin, drive = self._pin, self._drive
        return drive.T @ pin.rnea(self._model, self._data, self.full(q), drive @ v, drive @ a)

    def base_velocity(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Twist (6,) of a floating base in its own frame at zero momentum: linear, angular."""
        mass = self._pin.crba(self._model, self._data, self.full(q))[:6]
        return -self._solve_base(mass[:, :6], mass[:, 6:] @ (self._drive @ v))

    def centre_of_mass(self, q: np.ndarray) -> np.ndarray:
        """Centre of mass (3,) in the frame of the root link, metres."""
        return np.array(self._pin.centerOfMass(self._model, self._data, self.full(q)))

    @staticmethod
    def _solve_base(inertia: np.ndarray, loads: np.ndarray) -> np.ndarray:
        """``inertia`` (6, 6) of a floating base solved for ``loads`` (6, ...)."""
        return dposv(inertia, loads)[1].reshape(loads.shape)


def _built(
    pin: ModuleType, bodies: Bodies, carried: Mapping[str, Sequence[Inertial]], floating: bool
) -> tuple[Any, list[int]]:
    """A model of pinocchio without gravity, and its joint of each body; ``carried`` by links."""
    model, ids = pin.Model(), [0]
    if floating:
        ids = [model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")]
    for k, parent in enumerate(bodies.parents):
        kind = pin.JointModelPZ() if bodies.slides[k] else pin.JointModelRZ()
        place = pin.SE3(bodies.placements[k])
        ids.append(model.addJoint(ids[parent], kind, place, f"joint {k}"))
    for link, pose in bodies.link_poses.items():
        for one in carried.get(link, ()):
            inertia = pin.Inertia(one.mass, one.centre, one.inertia)
            model.appendBodyToJoint(ids[bodies.link_bodies[link]], inertia, pin.SE3(pose))
    return model, ids


def _leading(bodies: Bodies, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(bodies, n) and (bodies,): positions of all joints are drive @ q + offsets."""
    known = bodies.joint_names
    for name in names:
        if name not in known:
            raise DynamicsError(_unknown("joint", name, known))
    rest = np.array([joint.rest for joint in bodies.joints])
    columns = [known.index(name) for name in names]
    rest[columns] = 0.0
    spread = np.zeros((len(bodies.columns), len(known)))
    spread[np.arange(len(bodies.columns)), bodies.columns] = bodies.gains
    return spread[:, columns], spread @ rest + bodies.offsets


def _unknown(what: str, name: str, known: Sequence[str] | Mapping) -> str:
    return f"{what} {name!r} is unknown; there are {closest(name, known)}"


def _notes(
    robot: Robot, inertials: Mapping[str, Inertial], moving: Collection[str]
) -> tuple[str, ...]:
    """Notes of moving links with a missing or invalid mass."""
    notes = []
    bare = [n for n, link in robot.links.items() if n in moving and link.shapes]
    bare = [name for name in bare if name not in inertials]
    if bare:
        notes.append(f"no mass in the URDF, treated as massless: {', '.join(bare)}")
    odd = [n for n, one in inertials.items() if n in moving and not one.is_possible]
    if odd:
        notes.append(f"physically impossible inertia, used as given: {', '.join(odd)}")
    return tuple(notes)


def _weightless(dynamics: RobotDynamics, bodies: Bodies, ids: list[int]) -> tuple[str, ...]:
    """A note of joints that move no mass; DynamicsError if no joint does.

    ``ids``: pinocchio's joint of each body.
    """
    if dynamics.floating and dynamics.mass <= 0.0:
        raise DynamicsError("the base floats, and no link of the URDF has a mass: add <inertial>")
    model, data = dynamics._model, dynamics._data
    dynamics._pin.computeSubtreeMasses(model, data)
    light = []
    for j, name in enumerate(dynamics.joint_names):
        own = [ids[k + 1] for k in np.flatnonzero(dynamics._drive[:, j])]
        if sum(data.mass[i] for i in own) <= 0.0:
            below = {one for i in own for one in model.subtrees[i]}
            links = [link for link, body in bodies.link_bodies.items() if ids[body] in below]
            light.append(f"{name!r} ({', '.join(sorted(links))})")
    if not light:
        return ()
    text = f"no mass is moved by joint {', '.join(light)}"
    if len(light) == len(dynamics.joint_names):
        raise DynamicsError(f"{text}: add <inertial> to these links in the URDF")
    return (f"{text}, so torques there are not checked",)


@dataclass(frozen=True, eq=False)
class BaseMotion:
    """Motion of the base in the inertial frame, which is that of the base at time 0.

    Attributes:
        times: (n,) seconds.
        poses: (n, 4, 4) in the inertial frame.
        velocities: (n, 6) linear and angular, in the frame of the base.
    """

    times: np.ndarray
    poses: np.ndarray
    velocities: np.ndarray


def base_motion(
    dynamics: RobotDynamics,
    times: np.ndarray,
    state: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    samples: tuple[np.ndarray, np.ndarray],
) -> BaseMotion:
    """Motion of a floating base from the origin at ``times[0]``, at zero momentum.

    Its angular velocity follows from those of the joints and does not depend on its pose. So only
    the attitude is integrated, by a Magnus series of fourth order with two Gauss points per step,
    which preserves rotations (Iserles et al., Lie-group methods, Acta Numerica 9, 2000). The
    position follows from the centre of mass, which rests or falls freely.

    Args:
        dynamics: of a robot with a floating base.
        times: (n,) non-decreasing, seconds, at most `LONGEST_TURN` apart.
        state: positions and velocities (m, joints) at times (m,) within the motion.
        samples: positions and velocities (n, joints) at ``times``, separate from ``state`` because
            velocities may have two values at one time.
    """
    gaps = np.diff(times)
    middle = 0.5 * (times[1:] + times[:-1])
    rates = [
        np.array([dynamics.base_velocity(q, v)[3:] for q, v in zip(*state(at), strict=True)])
        for at in (middle - _GAUSS * gaps, middle + _GAUSS * gaps)
    ]
    turn = 0.5 * gaps[:, None] * (rates[0] + rates[1])
    turn += np.sqrt(3.0) / 12.0 * gaps[:, None] ** 2 * np.cross(rates[0], rates[1])
    attitudes = [Rotation.identity()]
    for step in Rotation.from_rotvec(turn):
        attitudes.append(attitudes[-1] * step)
    turned = np.array([attitude.as_matrix() for attitude in attitudes])
    centres = np.array([dynamics.centre_of_mass(q) for q in samples[0]])
    since = (times - times[0])[:, None]
    fallen = centres[0] + 0.5 * dynamics.gravity * since**2
    poses = np.tile(np.eye(4), (len(times), 1, 1))
    poses[:, :3, :3] = turned
    poses[:, :3, 3] = fallen - np.einsum("nij,nj->ni", turned, centres)
    velocities = np.array([dynamics.base_velocity(q, v) for q, v in zip(*samples, strict=True)])
    falling = dynamics.gravity * since
    velocities[:, :3] += np.einsum("nji,nj->ni", turned, falling)
    return BaseMotion(times, poses, velocities)
