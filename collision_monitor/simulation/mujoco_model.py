# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot and its scene as a model of MuJoCo, built from this package's own plain data.

Not by MuJoCo's reader of URDFs: that one knows neither package:// nor COLLADA, forgets mimic
joints, fuses links whose contacts must be distinguished, and lets neighbours touch.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from collision_monitor.common.optional_dependencies import optional_dependency
from collision_monitor.common.text import shortened
from collision_monitor.robot.bodies import Bodies, leading_joint, rigid_bodies
from collision_monitor.robot.description import Joint, Robot, Shape
from collision_monitor.robot.pairs import NEIGHBOURS, UnmonitoredPair, neighbours
from collision_monitor.robot.poses import joint_motion
from collision_monitor.robot.scene import Scene, with_joints
from collision_monitor.robot.srdf import Semantics
from collision_monitor.robot.urdf.inertials import Inertial, JointFriction
from collision_monitor.simulation.masses import Principal, convex_hull, link_masses

logger = logging.getLogger(__name__)


@cache
def mujoco_library() -> ModuleType:
    """The module mujoco (Todorov, Erez, Tassa, IROS 2012), its warnings sent to our log.

    Raises:
        MissingDependencyError: it is not installed, or older than its model builder.
    """
    with optional_dependency("the simulation needs mujoco 3.3 or later", "simulation"):
        import mujoco

        mujoco.MjSpec  # noqa: B018 - an attribute of mujoco 3.2 and later
    # Without it MuJoCo writes its warnings to a file in the working directory.
    mujoco.set_mju_user_warning(lambda text: logger.warning("MuJoCo: %s", text))
    return mujoco


def excluded_pairs(
    robot: Robot, bodies: Bodies, semantics: Semantics, scene: Scene
) -> dict[frozenset[str], str]:
    """Reason by pair of names (links or obstacles), as a CollisionModel leaves them out.

    Neighbours over one joint, what the SRDF disables and what the scene ignores. Links
    of one rigid body need no exclusion: MuJoCo never lets them touch.
    """
    excluded = {pair: NEIGHBOURS for pair in neighbours(robot, bodies)}
    for pair, reason in semantics.disabled.items():
        text = f": {reason}" if reason else ""
        excluded.setdefault(pair, f"disabled in the SRDF{text}")
    for a, b in scene.ignore:
        excluded.setdefault(frozenset((a, b)), "ignored by the scene")
    return excluded


ALWAYS = "their hulls always touch"
_SAMPLES = 200
_NEARLY_ALL = 0.95  # of the samples; as a CollisionModel leaves pairs out
_GEOMS = {"box": "BOX", "sphere": "SPHERE", "cylinder": "CYLINDER", "capsule": "CAPSULE"}


@dataclass(frozen=True, eq=False)
class SimulatedRobot:
    """A compiled model, and where in it the robot's parts are.

    Attributes:
        name: of the robot.
        model: MuJoCo's MjModel; actuator k moves joint k, with gains of zero yet.
        bodies: the kinematic tree.
        names: of each of MuJoCo's bodies the link or obstacle, "" for its world.
        positions: (nq,) indices of the joints in MuJoCo's qpos, in the order of bodies.joints.
        rates: (nq,) the same in qvel.
        followers: (k,) indices in qpos of mimic joints, ``leaders`` (k,) the joints in
            the order of q that they follow, by ``gains`` and ``offsets`` (k,).
        excluded: pairs that may pass through each other, and why.
        warnings: about assumptions.
    """

    name: str
    model: Any
    bodies: Bodies
    names: tuple[str, ...]
    positions: np.ndarray
    rates: np.ndarray
    followers: np.ndarray
    leaders: np.ndarray
    gains: np.ndarray
    offsets: np.ndarray
    excluded: tuple[UnmonitoredPair, ...]
    warnings: tuple[str, ...]

    def place(self, data: Any, q: np.ndarray) -> None:
        """Write a configuration (nq,) into MuJoCo's data, mimic joints included."""
        data.qpos[self.positions] = q
        data.qpos[self.followers] = self.gains * q[self.leaders] + self.offsets


def simulated_robot(
    robot: Robot,
    inertials: Mapping[str, Inertial],
    friction: Mapping[str, JointFriction] | None = None,
    semantics: Semantics | None = None,
    scene: Scene | None = None,
    timestep: float = 0.002,
    gravity: float = 9.81,
    effort_limits: bool = True,
) -> SimulatedRobot:
    """Build and compile; the root link stands still, gravity acts along its -z.

    Meshes touch by their convex hulls. Two links whose hulls touch in nearly all sampled
    configurations are excluded with a warning; an obstacle never is.

    Args:
        robot: its links, joints and collision shapes.
        inertials: of the links, by name.
        friction: of the joints, by name.
        semantics: the SRDF, whose disabled pairs do not touch.
        scene: obstacles, fixed to their links or moved by joints of the scene.
        timestep: of the integration, s.
        gravity: m/s^2.
        effort_limits: whether servos keep to the effort limits of the URDF.

    Raises:
        MissingDependencyError: MuJoCo is not installed.
    """
    semantics = Semantics() if semantics is None else semantics
    scene = Scene() if scene is None else scene
    robot = with_joints(robot, scene.joints)
    bodies = rigid_bodies(robot)
    masses, warnings = link_masses(robot, bodies, inertials)
    builder = _Builder(robot, bodies, masses, friction or {}, scene, timestep, gravity)
    builder.add_actuators(effort_limits)
    reasons = excluded_pairs(robot, bodies, semantics, scene)
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


def _always_touching(found: SimulatedRobot) -> list[frozenset[str]]:
    """Pairs of names that touch in nearly all sampled configurations."""
    mujoco = mujoco_library()
    joints = found.bodies.joints
    low, high = (np.array([getattr(j, end) for j in joints]) for end in ("lower", "upper"))
    rng = np.random.default_rng(0)
    data = mujoco.MjData(found.model)
    counts: dict[frozenset[str], int] = {}
    for _ in range(_SAMPLES):
        found.place(data, rng.uniform(low, high))
        mujoco.mj_kinematics(found.model, data)
        mujoco.mj_comPos(found.model, data)
        mujoco.mj_collision(found.model, data)
        geoms = data.contact.geom[data.contact.dist <= 0.0]
        touching = {
            frozenset(found.names[body] for body in row)
            for row in found.model.geom_bodyid[geoms].tolist()
        }
        for pair in touching:
            counts[pair] = counts.get(pair, 0) + 1
    return [pair for pair, count in counts.items() if count >= _NEARLY_ALL * _SAMPLES]


class _Builder:
    """One MjSpec, compiled twice: without and with the pairs that always touch."""

    def __init__(
        self,
        robot: Robot,
        bodies: Bodies,
        masses: Mapping[str, Principal],
        friction: Mapping[str, JointFriction],
        scene: Scene,
        timestep: float,
        gravity: float,
    ) -> None:
        self._mujoco = mujoco_library()
        self._robot, self._bodies, self._masses = robot, bodies, masses
        self._friction = friction
        self.warnings: list[str] = []
        spec = self._spec = self._mujoco.MjSpec()
        spec.modelname = robot.name
        spec.compiler.degree = False
        spec.compiler.autolimits = False
        spec.option.timestep = timestep
        spec.option.gravity = [0.0, 0.0, -gravity]
        spec.option.integrator = self._mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        # Its parent filter is coarser than neighbours: it spares whatever is fixed to the parent.
        spec.option.disableflags = int(self._mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
        self._of_link = {robot.root: self._add_link(spec.worldbody, robot.root, np.eye(4))}
        by_name = {joint.name: joint for joint in robot.joints}
        for joint in robot.joints:
            self._add_joint(joint, by_name)
        for link, body in self._of_link.items():
            self._add_shapes(body, robot.links[link].shapes)
        for obstacle in scene.obstacles:
            body = self._of_link[obstacle.link].add_body(name=f"obstacle:{obstacle.name}")
            self._add_shapes(body, (obstacle.shape,))

    def add_actuators(self, effort_limits: bool) -> None:
        """One for each joint with an entry of q, in its order."""
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
            if 0.0 < joint.effort < math.inf:
                actuator.forcelimited = True
                actuator.forcerange = [-joint.effort, joint.effort]
            else:
                unlimited.append(joint.name)
        if unlimited:
            self.warnings.append(
                f"joints {shortened(unlimited)}: no effort limit is given; their servos are as "
                "strong as they like"
            )

    def compile(
        self, reasons: Mapping[frozenset[str], str], *warnings: Iterable[str]
    ) -> SimulatedRobot:
        """The model, without contacts of the pairs in ``reasons``."""
        names = {body.name for body in self._spec.bodies}
        known = {exclude.name for exclude in self._spec.excludes}
        for pair in sorted(map(sorted, reasons)):
            a, b = (next(p + n for p in ("link:", "obstacle:") if p + n in names) for n in pair)
            name = f"{a} {b}"
            if name not in known:
                self._spec.add_exclude(name=name, bodyname1=a, bodyname2=b)
        model = self._spec.compile()
        joints = self._bodies.joints
        ids = [model.joint(joint.name).id for joint in joints]
        followers, leaders, gains, offsets = self._follow(model)
        return SimulatedRobot(
            name=self._robot.name,
            model=model,
            bodies=self._bodies,
            names=tuple(
                model.body(k).name.partition(":")[2] if k else "" for k in range(model.nbody)
            ),
            positions=model.jnt_qposadr[ids].astype(np.int64),
            rates=model.jnt_dofadr[ids].astype(np.int64),
            followers=followers,
            leaders=leaders,
            gains=gains,
            offsets=offsets,
            excluded=tuple(UnmonitoredPair(*sorted(p), why) for p, why in reasons.items()),
            warnings=tuple(text for part in warnings for text in part),
        )

    def _follow(self, model: Any) -> tuple[np.ndarray, ...]:
        by_name = {joint.name: joint for joint in self._robot.joints}
        column = {joint.name: k for k, joint in enumerate(self._bodies.joints)}
        rows = []
        for joint in self._robot.joints:
            leader, gain, offset = leading_joint(joint, by_name)
            if leader is not None and joint.mimic is not None:
                address = int(model.jnt_qposadr[model.joint(joint.name).id])
                rows.append((address, column[leader], gain, offset))
        table = np.array(rows, dtype=float).reshape(-1, 4)
        return table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2], table[:, 3]

    def _add_link(self, parent: Any, link: str, pose: np.ndarray) -> Any:
        body = parent.add_body(name=f"link:{link}", pos=pose[:3, 3], quat=self._quaternion(pose))
        body.explicitinertial = True
        if mass := self._masses.get(link):
            body.mass, body.ipos, body.inertia = mass.mass, mass.centre, mass.moments
            body.iquat = self._quaternion(mass.axes)
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

    def _add_shapes(self, body: Any, shapes: Iterable[Shape]) -> None:
        kinds = self._mujoco.mjtGeom
        for shape in shapes:
            geom = body.add_geom(
                pos=shape.pose[:3, 3], quat=self._quaternion(shape.pose), mass=0.0
            )
            if shape.kind == "mesh":
                vertices, triangles = convex_hull(shape.vertices)
                name = f"hull {len(self._spec.meshes)}"
                mesh = self._spec.add_mesh(name=name)
                mesh.uservert, mesh.userface = vertices.ravel(), triangles.ravel()
                mesh.inertia = self._mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
                geom.type, geom.meshname = kinds.mjGEOM_MESH, name
                continue
            geom.type = getattr(kinds, f"mjGEOM_{_GEOMS[shape.kind]}")
            halves = {
                "box": [0.5 * x for x in shape.size],
                "sphere": [shape.size[0], 0.0, 0.0],
            }
            lengths = [shape.size[0], 0.5 * shape.size[-1], 0.0]
            geom.size = halves.get(shape.kind, lengths)
            if shape.kind == "capsule" and shape.size[1] == 0.0:
                geom.type = kinds.mjGEOM_SPHERE

    def _quaternion(self, pose: np.ndarray) -> np.ndarray:
        """MuJoCo's w x y z of a pose or a rotation."""
        out = np.zeros(4)
        self._mujoco.mju_mat2Quat(out, np.ascontiguousarray(pose[:3, :3]).ravel())
        return out


def _first(old: Any, *values: float) -> Any:
    """``values`` in the place of a number, or at the start of an array.

    MuJoCo 4 has polynomials where 3 had numbers.
    """
    if np.ndim(old) == 0:
        return values[0]
    new = np.zeros(len(old))
    new[: len(values)] = values
    return new
