# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pinocchio and coal as an independent reference: kinematics and distances not our own."""

from pathlib import Path

import coal  # noqa: F401  tests take it from here, with pinocchio
import numpy as np
import pytest
import trimesh

from support.geometry.coal_shapes import coal_capsule, coal_mesh

pin = pytest.importorskip("pinocchio", reason="pinocchio (PyPI: pin) is not installed")


class Reference:
    """A robot as pinocchio and coal see it, asked about the pairs of a CollisionModel."""

    def __init__(self, urdf: Path, package_dirs: list[Path], model) -> None:
        self.model = model
        self.pin_model = pin.buildModelFromUrdf(str(urdf))
        self.pin_data = self.pin_model.createData()
        self._urdf, self._package_dirs = urdf, [str(d) for d in package_dirs]
        self._mimics = [j for j in model.robot.joints if j.moves and j.mimic is not None]
        self._data: tuple = (None, None)

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Pinocchio's configuration vector; mimics are worked out here, link by link."""
        position = dict(zip(self.model.joint_names, q, strict=True))
        waiting = list(self._mimics)
        while waiting:
            joint = waiting.pop(0)
            if joint.mimic.joint not in position:
                waiting.append(joint)
                continue
            leader = position[joint.mimic.joint]
            position[joint.name] = joint.mimic.multiplier * leader + joint.mimic.offset
        out = pin.neutral(self.pin_model)
        for name, value in position.items():
            joint = self.pin_model.joints[self.pin_model.getJointId(name)]
            if joint.nq == 2:  # continuous: cosine and sine
                out[joint.idx_q : joint.idx_q + 2] = np.cos(value), np.sin(value)
            else:
                out[joint.idx_q] = value
        return out

    def _frame(self, link: str) -> int:
        return self.pin_model.getFrameId(link, pin.FrameType.BODY)

    def link_pose(self, q: np.ndarray, link: str) -> np.ndarray:
        """Pose (4, 4) of a link in the frame of the root link."""
        pin.framesForwardKinematics(self.pin_model, self.pin_data, self.configuration(q))
        root = self.pin_data.oMf[self._frame(self.model.root)]
        return (root.inverse() * self.pin_data.oMf[self._frame(link)]).homogeneous

    def _pairs(self, geometry, objects: dict[str, list[int]]) -> list[tuple[str, str]]:
        """Add every pair of objects of every checked pair of links; whose each one is."""
        owners = []
        for a, b in self.model.pairs:
            for i in objects[a]:
                for j in objects[b]:
                    geometry.addCollisionPair(pin.CollisionPair(i, j))
                    owners.append((a, b))
        return owners

    def leaf_geometry(self):
        """(geometry model, owners): coal capsules and spheres on the model's leaves."""
        geometry = pin.GeometryModel()
        objects: dict[str, list[int]] = {}
        for k, leaf in enumerate(self.model.leaves):
            shape, place = coal_capsule(np.array([leaf.p0, leaf.p1]), leaf.radius)
            frame = self.pin_model.frames[self._frame(leaf.link)]
            pose = frame.placement * pin.SE3(place.getRotation(), place.getTranslation())
            item = pin.GeometryObject(f"{leaf.link}/{k}", frame.parentJoint, pose, shape)
            objects.setdefault(leaf.link, []).append(geometry.addGeometryObject(item))
        return geometry, self._pairs(geometry, objects)

    def mesh_geometry(self):
        """(geometry model, owners): the URDF's collision meshes as coal loads them."""
        geometry = pin.buildGeomFromUrdf(
            self.pin_model,
            str(self._urdf),
            pin.GeometryType.COLLISION,
            package_dirs=self._package_dirs,
        )
        objects: dict[str, list[int]] = {}
        for k, item in enumerate(geometry.geometryObjects):
            if item.meshPath.lower().endswith(".dae"):
                # pinocchio mixes up the triangles of a file with several geometries
                mesh = trimesh.load(item.meshPath, force="mesh")
                item.geometry = coal_mesh(mesh.vertices * item.meshScale, mesh.faces)
            link = self.pin_model.frames[item.parentFrame].name
            objects.setdefault(link, []).append(k)
        return geometry, self._pairs(geometry, objects)

    def _data_of(self, geometry):
        """Work space of the geometry asked about last: making one costs more than a query."""
        if self._data[0] is not geometry:
            self._data = geometry, pin.GeometryData(geometry)
        return self._data[1]

    def distances(self, geometry, q: np.ndarray) -> np.ndarray:
        """Signed distance of every pair of objects of ``geometry``."""
        data = self._data_of(geometry)
        pin.computeDistances(self.pin_model, self.pin_data, geometry, data, self.configuration(q))
        return np.array([result.min_distance for result in data.distanceResults])

    def some_distances(self, geometry, q: np.ndarray, indices: list[int]) -> list[float]:
        """Signed distances of the pairs of objects at ``indices`` only."""
        data = self._data_of(geometry)
        pin.forwardKinematics(self.pin_model, self.pin_data, self.configuration(q))
        pin.updateGeometryPlacements(self.pin_model, self.pin_data, geometry, data)
        return [pin.computeDistance(geometry, data, k).min_distance for k in indices]
