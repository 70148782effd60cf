# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robots with something to find, and an eye that is not ours: pinocchio and coal on their files."""

from pathlib import Path

import coal
import numpy as np
import pinocchio as pin

from support.robots.toys import joint, link, robot

# A post, an arm that can turn into it, a far flag that cannot, a bracket on the base, and a
# hand whose finger is always in its palm.
ROBOT = robot(
    link("base", '<box size="0.2 0.2 0.1"/>'),
    link("post", '<box size="0.1 0.1 1"/>'),
    link("flag", '<box size="0.1 0.1 0.1"/>'),
    link("arm", '<box size="1 0.05 0.05"/>', "0.5 0 0"),
    link("palm", '<box size="0.1 0.1 0.1"/>'),
    link("finger", '<box size="0.06 0.06 0.02"/>'),
    link("frame", ""),
    joint("weld", "base", "post", "fixed", xyz="0.6 0.4 0"),
    joint("hoist", "base", "flag", "fixed", xyz="0 0 3"),
    joint("shoulder", "base", "arm", xyz="0 0 0.1"),
    joint("wrist", "arm", "palm", xyz="1.1 0 0", axis="1 0 0"),
    joint("tip", "palm", "finger", xyz="0 0 0"),
    joint("tool", "palm", "frame", "fixed"),
    name="poster",
)
SRDF = """<?xml version="1.0"?>
<robot name="poster">
    <!-- kept -->
    <group name="whole"><chain base_link="base" tip_link="palm"/></group>
    <group_state name="home" group="whole"><joint name="shoulder" value="0"/></group_state>
    <end_effector name="hand" parent_link="palm" group="whole"/>
    {pairs}
</robot>
"""


def srdf(*pairs: tuple[str, str, str]) -> str:
    """An SRDF that exempts (link, link, reason)."""
    return SRDF.format(
        pairs="\n    ".join(
            f'<disable_collisions link1="{a}" link2="{b}" reason="{reason}"/>'
            for a, b, reason in pairs
        )
    )


class Eye:
    """Whether two links of a URDF meet at given joint positions, by pinocchio and coal alone."""

    def __init__(self, urdf: Path, package_dirs: list[Path]) -> None:
        self._model = pin.buildModelFromUrdf(str(urdf), mimic=True)
        self._data = self._model.createData()
        self._geometry = pin.buildGeomFromUrdf(
            self._model,
            str(urdf),
            pin.GeometryType.COLLISION,
            package_dirs=list(map(str, package_dirs)),
        )
        self._objects: dict[str, list[int]] = {}
        for k, item in enumerate(self._geometry.geometryObjects):
            name = self._model.frames[item.parentFrame].name
            self._objects.setdefault(name, []).append(k)

    def meet(self, a: str, b: str, positions: dict[str, float]) -> bool:
        """Whether coal finds a contact of any two shapes of links a and b."""
        q = pin.neutral(self._model)
        for name, value in positions.items():
            joint = self._model.joints[self._model.getJointId(name)]
            if joint.nq == 2:
                q[joint.idx_q : joint.idx_q + 2] = np.cos(value), np.sin(value)
            else:
                q[joint.idx_q] = value
        data = pin.GeometryData(self._geometry)
        pin.updateGeometryPlacements(self._model, self._data, self._geometry, data, q)
        for i in self._objects[a]:
            for j in self._objects[b]:
                request, result = coal.CollisionRequest(), coal.CollisionResult()
                request.num_max_contacts, request.enable_contact = 1, True
                places = [data.oMg[k] for k in (i, j)]
                one, other = (self._geometry.geometryObjects[k].geometry for k in (i, j))
                at = [coal.Transform3s(p.rotation, p.translation) for p in places]
                if coal.collide(one, at[0], other, at[1], request, result):
                    return True
        return False
