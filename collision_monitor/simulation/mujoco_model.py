# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo model of a robot and its scene.

The URDF reader of MuJoCo is not used: it does not support package:// and COLLADA, ignores mimic
joints, merges links whose contacts must be distinguished, and lets neighbours touch.

Masses and inertias are valid for a physics engine, even if the URDF is incomplete.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from collision_monitor.common.lazy_imports import optional_dependency
from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.common.settings import check_settings, setting
from collision_monitor.common.text import shortened
from collision_monitor.errors import ConfigurationError
from collision_monitor.model.pair_rules import RARELY, SAMPLES
from collision_monitor.robot.bodies import Bodies, leading_joint, rigid_bodies
from collision_monitor.robot.description import Joint, Robot, Shape
from collision_monitor.robot.inertials import Inertial, JointFriction
from collision_monitor.robot.pairs import UnmonitoredPair, omitted_pairs
from collision_monitor.robot.poses import joint_motion
from collision_monitor.robot.scene import Scene, with_joints
from collision_monitor.robot.shape_kinds import unknown_kind
from collision_monitor.robot.srdf import Semantics

# -- masses and inertias --

_LEAST = 1e-4  # minimum thickness of a mesh, m: MuJoCo needs a volume


def solid_points(points: np.ndarray) -> np.ndarray:
    """``points`` (k, 3), their convex hull at least 0.1 mm thick in all directions.

    In directions in which they are thinner, their middle is moved to both sides.
    """
    center = points.mean(axis=0)
    _, axes = np.linalg.eigh((points - center).T @ (points - center))
    local = (points - center) @ axes
    for axis in np.flatnonzero(np.ptp(local, axis=0) < _LEAST):
        middle = 0.5 * (local[:, axis].min() + local[:, axis].max())
        local = np.repeat(local, 2, axis=0)
        local[0::2, axis], local[1::2, axis] = middle - _LEAST / 2, middle + _LEAST / 2
    return local @ axes.T + center


_LEAST_MASS = 1e-3  # kg
_LEAST_RADIUS = 1e-3  # m: smallest radius of gyration


def link_masses(
    robot: Robot, bodies: Bodies, inertials: Mapping[str, Inertial]
) -> tuple[dict[str, Inertial], set[str], list[str]]:
    """Masses by link, links without a mass whose shapes are filled with water, and warnings.

    Links are filled if their rigid body (links without relative motion) moves and has no mass. A
    body without shapes gets 1 g. Inertias that no rigid body can have are increased.
    """
    given = {name: item for name, item in inertials.items() if name in robot.links}
    unreal = [name for name, item in given.items() if not item.is_possible]
    masses = {
        name: replace(item, inertia=possible_inertia(item))
        for name, item in given.items() if item.mass > 0.0
    }  # fmt: skip
    members: dict[int, list[str]] = {}
    for link, body in bodies.link_bodies.items():
        members.setdefault(body, []).append(link)
    filled: list[str] = []
    weightless: list[str] = []
    for body, links in members.items():
        if body == 0 or sum(masses[k].mass for k in links if k in masses) >= _LEAST_MASS:
            continue
        shaped = [link for link in links if robot.links[link].shapes]
        filled += shaped
        weightless += shaped or links[:1]
        if not shaped:
            inertia = _LEAST_MASS * _LEAST_RADIUS**2 * np.eye(3)
            masses[links[0]] = Inertial(_LEAST_MASS, np.zeros(3), inertia)
    warnings = []
    if unreal:
        warnings.append(f"links {shortened(unreal)}: impossible inertia; it is increased")
    if weightless:
        warnings.append(
            f"links {shortened(weightless)}: no mass is given; their shapes are assumed to be water"
        )
    return masses, set(filled), warnings


def possible_inertia(inertial: Inertial) -> np.ndarray:
    """The inertia (3, 3), with all moments increased by as much as a rigid body needs."""
    low, middle, high = np.linalg.eigvalsh(inertial.inertia)
    least = max(inertial.mass, _LEAST_MASS) * _LEAST_RADIUS**2
    # MuJoCo finds the moments again, by other arithmetic: the sum of the smaller ones, each
    # increased, is to be (1 + SIX_DIGITS) times the increased largest one.
    short = (high * (1.0 + SIX_DIGITS) - low - middle) / (1.0 - SIX_DIGITS)
    return inertial.inertia + max(0.0, least - low, short) * np.eye(3)


# -- model --

logger = logging.getLogger(__name__)


@cache
def mujoco_library() -> ModuleType:
    """The module mujoco (Todorov, Erez, Tassa, IROS 2012), with warnings sent to the log.

    Raises:
        MissingDependencyError: it is not installed, or too old.
    """
    with optional_dependency("the simulation needs mujoco 3.3 or later", "simulation"):
        import mujoco

        mujoco.MjSpec  # noqa: B018 - an attribute of mujoco 3.2 and later
    # Without it MuJoCo writes its warnings to a file in the working directory.
    mujoco.set_mju_user_warning(lambda text: logger.warning("MuJoCo: %s", text))
    return mujoco


ALWAYS = "their hulls always touch"
_GEOMS = {"box": "BOX", "sphere": "SPHERE", "cylinder": "CYLINDER", "capsule": "CAPSULE"}


@dataclass(frozen=True)
class SimulationSettings:
    """How a robot is simulated.

    Raises:
        ConfigurationError: a value is out of range.
    """

    timestep: float = setting(0.002, "integration time step, seconds", least=1e-5, most=0.02)
    gravity: float = setting(9.81, "gravity along -z of the robot's root link, m/s^2", most=100.0)
    servo_bandwidth: float = setting(
        8.0, "bandwidth of the servos, Hz; doubling it reduces the tracking error to a quarter",
        most=100.0, positive=True,
    )  # fmt: skip
    effort_limits: bool = setting(True, "apply the effort limits of the URDF to the servos")

    def __post_init__(self) -> None:
        """Check ranges."""
        check_settings(self, ConfigurationError)


@dataclass(frozen=True, eq=False)
class SimulatedRobot:
    """A compiled model, and the indices of the robot in it.

    Attributes:
        name: of the robot.
        model: MjModel of MuJoCo; actuator k moves joint k, with zero gains initially.
        bodies: the kinematic tree.
        names: link or obstacle of each body of MuJoCo, "" for its world.
        positions: (nq,) indices of the joints in qpos and qvel of MuJoCo, in the order of
            bodies.joints.
        motions: (nv, nq) velocities of all joints, mimic joints too, per velocity of q.
        offsets: (nv,) their positions are ``motions @ q + offsets``.
        excluded: pairs without contacts, with reasons.
        warnings: about assumptions.
    """

    name: str
    model: Any
    bodies: Bodies
    names: tuple[str, ...]
    positions: np.ndarray
    motions: np.ndarray
    offsets: np.ndarray
    excluded: tuple[UnmonitoredPair, ...]
    warnings: tuple[str, ...]

    def place(self, data: Any, q: np.ndarray) -> None:
        """Write a configuration (nq,) into the data of MuJoCo, including mimic joints."""
        data.qpos[:] = self.motions @ q + self.offsets

    def random_configurations(self) -> np.ndarray:
        """Configurations (k, nq) within the limits of the joints, always the same."""
        joints = self.bodies.joints
        ends = ([joint.lower for joint in joints], [joint.upper for joint in joints])
        return np.random.default_rng(0).uniform(*ends, (SAMPLES, len(joints)))


def simulated_robot(
    robot: Robot,
    inertials: Mapping[str, Inertial],
    friction: Mapping[str, JointFriction] | None = None,
    semantics: Semantics | None = None,
    scene: Scene | None = None,
    settings: SimulationSettings | None = None,
) -> SimulatedRobot:
    """Build and compile a model; the root link is fixed, and gravity acts along its -z.

    Contacts are between convex hulls of meshes. Two links whose hulls touch in nearly all sampled
    configurations are excluded with a warning; obstacles are never excluded.

    Args:
        robot: its links, joints and collision shapes.
        inertials: of the links, by name.
        friction: of the joints, by name.
        semantics: the SRDF, whose disabled pairs do not touch.
        scene: obstacles, attached to links or moved by joints of the scene.
        settings: how it is simulated.

    Raises:
        MissingDependencyError: MuJoCo is not installed.
    """
    semantics = Semantics() if semantics is None else semantics
    scene = Scene() if scene is None else scene
    settings = SimulationSettings() if settings is None else settings
    robot = with_joints(robot, scene.joints)
    bodies = rigid_bodies(robot)
    masses, filled, warnings = link_masses(robot, bodies, inertials)
    builder = _Builder(robot, bodies, masses, filled, friction or {}, scene, settings)
    builder.add_actuators(settings.effort_limits)
    reasons = omitted_pairs(robot, bodies, semantics, scene)
    found = builder.compile(reasons, (), ())
    always = _always_touching(found)
    obstacles = {obstacle.name for obstacle in scene.obstacles}
    for pair in always:
        if pair & obstacles:
            warnings.append(
                f"{' and '.join(sorted(pair))} always touch; if they are meant to, list the pair "
                "under ignore: in the scene"
            )
    always = {pair: ALWAYS for pair in always if not pair & obstacles}
    if always:
        names = [" - ".join(sorted(pair)) for pair in always]
        warnings.append(
            f"{shortened(names)}: their convex hulls touch in nearly every configuration, so they "
            "may pass through each other in the simulation"
        )
    return builder.compile({**reasons, **always}, builder.warnings, warnings)


def _always_touching(robot: SimulatedRobot) -> list[frozenset[str]]:
    """Pairs of names that touch in nearly all sampled configurations."""
    mujoco = mujoco_library()
    data = mujoco.MjData(robot.model)
    counts: dict[frozenset[str], int] = {}
    for q in robot.random_configurations():
        robot.place(data, q)
        mujoco.mj_kinematics(robot.model, data)
        mujoco.mj_comPos(robot.model, data)
        mujoco.mj_collision(robot.model, data)
        geoms = data.contact.geom[data.contact.dist <= 0.0]
        touching = {
            frozenset(robot.names[body] for body in row)
            for row in robot.model.geom_bodyid[geoms].tolist()
        }
        for pair in touching:
            counts[pair] = counts.get(pair, 0) + 1
    return [pair for pair, count in counts.items() if count >= (1.0 - RARELY) * SAMPLES]


class _Builder:
    """One MjSpec, compiled twice: without and with the pairs that always touch."""

    def __init__(
        self,
        robot: Robot,
        bodies: Bodies,
        masses: Mapping[str, Inertial],
        filled: Set[str],
        friction: Mapping[str, JointFriction],
        scene: Scene,
        settings: SimulationSettings,
    ) -> None:
        self._mujoco = mujoco_library()
        self._robot, self._bodies, self._friction = robot, bodies, friction
        self._masses, self._filled = masses, filled
        self.warnings: list[str] = []
        spec = self._spec = self._mujoco.MjSpec()
        spec.modelname = robot.name
        spec.compiler.degree = False
        spec.compiler.autolimits = False
        spec.option.timestep = settings.timestep
        spec.option.gravity = [0.0, 0.0, -settings.gravity]
        spec.option.integrator = self._mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        # Its parent filter is too coarse: it also excludes all links attached to the parent.
        spec.option.disableflags = int(self._mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
        self._of_link = {robot.root: self._add_link(spec.worldbody, robot.root, np.eye(4))}
        for joint in robot.joints:
            self._add_joint(joint, robot.joint_named)
        for link, body in self._of_link.items():
            self._add_shapes(body, robot.links[link].shapes, link in filled)
        for obstacle in scene.obstacles:
            body = self._of_link[obstacle.link].add_body(name=f"obstacle:{obstacle.name}")
            self._add_shapes(body, (obstacle.shape,))

    def add_actuators(self, effort_limits: bool) -> None:
        """Add an actuator for each joint of q, in its order."""
        unlimited = []
        for joint in self._bodies.joints:
            actuator = self._spec.add_actuator(
                name=joint.name,
                target=joint.name,
                trntype=self._mujoco.mjtTrn.mjTRN_JOINT,
                gaintype=self._mujoco.mjtGain.mjGAIN_FIXED,
                biastype=self._mujoco.mjtBias.mjBIAS_AFFINE,
            )
            if not effort_limits:
                continue
            if joint.effort < math.inf:
                actuator.forcelimited = True
                actuator.forcerange = [-joint.effort, joint.effort]
            else:
                unlimited.append(joint.name)
        if unlimited:
            self.warnings.append(
                f"joints {shortened(unlimited)}: no effort limit is given; their servos "
                "have no torque limit"
            )

    def compile(
        self, reasons: Mapping[frozenset[str], str], *warnings: Iterable[str]
    ) -> SimulatedRobot:
        """The compiled model, without contacts of the pairs in ``reasons``."""
        names = {body.name for body in self._spec.bodies}
        known = {exclude.name for exclude in self._spec.excludes}
        for pair in sorted(map(sorted, reasons)):
            a, b = (next(p + n for p in ("link:", "obstacle:") if p + n in names) for n in pair)
            name = f"{a} {b}"
            if name not in known:
                self._spec.add_exclude(name=name, bodyname1=a, bodyname2=b)
        model = self._spec.compile()
        # Hinges and slides have one number each, so the indices of qpos and qvel are the same.
        addresses = {j.name: int(model.joint(j.name).qposadr[0]) for j in self._spec.joints}
        joints = self._robot.joint_named
        names = self._bodies.joint_names
        motions, offsets = np.zeros((model.nv, len(names))), np.zeros(model.nv)
        for name, row in addresses.items():
            leader, gain, offsets[row] = leading_joint(joints[name], joints)
            motions[row, names.index(leader)] = gain
        return SimulatedRobot(
            name=self._robot.name,
            model=model,
            bodies=self._bodies,
            names=tuple(
                model.body(k).name.partition(":")[2] if k else "" for k in range(model.nbody)
            ),
            positions=np.array([addresses[name] for name in names], dtype=np.int64),
            motions=motions,
            offsets=offsets,
            excluded=tuple(UnmonitoredPair(*sorted(p), why) for p, why in reasons.items()),
            warnings=tuple(text for part in warnings for text in part),
        )

    def _add_link(self, parent: Any, link: str, pose: np.ndarray) -> Any:
        body = parent.add_body(name=f"link:{link}", pos=pose[:3, 3], quat=self._quaternion(pose))
        body.explicitinertial = link not in self._filled
        if link not in self._filled and (mass := self._masses.get(link)):
            body.mass, body.ipos = mass.mass, mass.centre
            body.fullinertia = mass.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        return body

    def _add_joint(self, joint: Joint, by_name: Mapping[str, Joint]) -> None:
        leader, gain, offset = leading_joint(joint, by_name)
        pose = joint.origin
        if joint.moves and leader is None:
            pose = pose @ joint_motion(joint.kind == "prismatic", joint.axis, offset)
        body = self._add_link(self._of_link[joint.parent], joint.child, pose)
        self._of_link[joint.child] = body
        if leader is None:
            return
        friction = self._friction.get(joint.name, JointFriction())
        kinds = self._mujoco.mjtJoint
        made = body.add_joint(
            name=joint.name,
            type=kinds.mjJNT_SLIDE if joint.kind == "prismatic" else kinds.mjJNT_HINGE,
            axis=joint.axis,
            frictionloss=friction.friction,
        )
        made.damping = _first(made.damping, friction.damping)
        if joint.mimic is not None:
            kind = self._mujoco.mjtEq.mjEQ_JOINT
            follow = self._spec.add_equality(type=kind, name1=joint.name, name2=leader)
            follow.objtype = self._mujoco.mjtObj.mjOBJ_JOINT
            follow.data = _first(follow.data, offset, gain, 0.0, 0.0, 0.0)
        elif joint.kind != "continuous" and joint.lower < joint.upper:
            made.limited = True
            made.range = [joint.lower, joint.upper]

    def _add_shapes(self, body: Any, shapes: Iterable[Shape], are_filled: bool = False) -> None:
        """Add shapes without mass, or filled with water, which MuJoCo does by default."""
        kinds = self._mujoco.mjtGeom
        for shape in shapes:
            geom = body.add_geom(pos=shape.pose[:3, 3], quat=self._quaternion(shape.pose))
            if not are_filled:
                geom.mass = 0.0
            if shape.kind == "mesh":
                name = f"hull {len(self._spec.meshes)}"
                mesh = self._spec.add_mesh(name=name)
                mesh.uservert = solid_points(shape.vertices).ravel()
                mesh.inertia = self._mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
                geom.type, geom.meshname = kinds.mjGEOM_MESH, name
                continue
            if shape.kind not in _GEOMS:
                raise unknown_kind(shape, (*_GEOMS, "mesh"))
            geom.type = getattr(kinds, f"mjGEOM_{_GEOMS[shape.kind]}")
            halves = {"box": [0.5 * x for x in shape.size], "sphere": [shape.size[0], 0.0, 0.0]}
            lengths = [shape.size[0], 0.5 * shape.size[-1], 0.0]
            geom.size = halves.get(shape.kind, lengths)
            if shape.kind == "capsule" and shape.size[1] == 0.0:
                geom.type = kinds.mjGEOM_SPHERE

    def _quaternion(self, pose: np.ndarray) -> np.ndarray:
        """Quaternion (w, x, y, z) of a pose or a rotation."""
        out = np.zeros(4)
        self._mujoco.mju_mat2Quat(out, np.ascontiguousarray(pose[:3, :3]).ravel())
        return out


def _first(old: Any, *values: float) -> Any:
    """``values`` instead of a number, or at the start of an array.

    MuJoCo 4 has polynomials where 3 had numbers.
    """
    if np.ndim(old) == 0:
        return values[0]
    new = np.zeros(len(old))
    new[: len(values)] = values
    return new
