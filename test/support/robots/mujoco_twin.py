# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot in mujoco, out of the same URDF: another engine, with its own reader and equations."""

from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np
from lxml import etree


class Twin:
    """Joints of a robot in mujoco by our order; no contacts, limits, friction or damping."""

    def __init__(
        self,
        urdf: str | Path,
        joint_names: Sequence[str],
        floating: bool = False,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
    ) -> None:
        """Load links with masses alone; joints that are not named are fixed at zero."""
        spec = mujoco.MjSpec.from_string(_bare(urdf, joint_names))
        spec.option.gravity = np.array(gravity, dtype=float)
        spec.option.timestep = 1e-3
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        if floating:
            spec.worldbody.first_body().add_freejoint()
        self.model = spec.compile()
        off = mujoco.mjtDisableBit
        self.model.opt.disableflags |= off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT
        self.data = mujoco.MjData(self.model)
        ids = [self.model.joint(name).id for name in joint_names]
        self.q = self.model.jnt_qposadr[ids]
        self.v = self.model.jnt_dofadr[ids]

    def inverse(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, base: Sequence[np.ndarray] = ()
    ) -> np.ndarray:
        """Generalized forces (all dofs) by mj_inverse; ``base``: velocity and acceleration (6,)."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[self.q], self.data.qvel[self.v], self.data.qacc[self.v] = q, v, a
        if base:
            self.data.qvel[:6], self.data.qacc[:6] = base
        mujoco.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse.copy()


def _bare(urdf: str | Path, joint_names: Sequence[str]) -> str:
    """The URDF without what is seen and touched, and without what moves besides."""
    text = urdf.read_text(encoding="utf-8") if isinstance(urdf, Path) else urdf
    root = etree.fromstring(text.encode())
    for link in root.iter("link"):
        for tag in ("visual", "collision"):
            for element in link.findall(tag):
                link.remove(element)
    for joint in root.findall("joint"):
        if joint.get("name") not in joint_names:
            joint.set("type", "fixed")
        for tag in ("dynamics", "mimic", "safety_controller"):
            for element in joint.findall(tag):
                joint.remove(element)
    options = etree.SubElement(etree.SubElement(root, "mujoco"), "compiler")
    options.set("fusestatic", "false")
    return etree.tostring(root, encoding="unicode")
