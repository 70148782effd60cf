# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures: they come out, and show contact in red."""

import numpy as np
import pytest
from toys import chain

pytest.importorskip("pyvista", reason="pyvista is not installed")
plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")

from collision_monitor import CollisionModel  # noqa: E402
from collision_monitor.cli.picture import render  # noqa: E402


@pytest.fixture(scope="module")
def model():
    """A chain of four beside a ball."""
    ball = {"name": "ball", "type": "sphere", "radius": 0.05, "position": [1.0, 1.12, 0.0]}
    return CollisionModel.from_urdf(chain(4), scene={"obstacles": [ball]})


def coloured(picture):
    """(red pixels, green pixels, different colours)."""
    r, g, b = (picture[..., k] for k in range(3))
    return (
        int(((r > g + 0.06) & (r > b + 0.06)).sum()),
        int(((g > r + 0.1) & (g > b + 0.02)).sum()),
        len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)),
    )


def test_a_clear_pose_is_green_and_a_contact_red(model, tmp_path):
    pictures = []
    for name, q in (("clear", [-0.5, -0.5, 0.3]), ("contact", [np.pi / 2, 0.0, 0.0])):
        path = tmp_path / f"{name}.png"
        render(model, q, path, size=(320, 240))
        pictures.append(plt.imread(path))
        assert pictures[-1].shape[:2] == (240, 320)
    red, green, many = coloured(pictures[0])
    assert red < 60 and green > 200 and many > 50
    red, _, _ = coloured(pictures[1])
    assert red > 200
