# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures: a PNG of the size asked for, in which contact is red and clearance is green."""

import math

import numpy as np
import pytest
from support.robots.toy_models import toy_model
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.viewer.picture import render

CLEAR, CONTACT = (0.0, 0.0), (math.pi - 0.2, 0.0)


def three(shape, **options):
    """Three links of one shape; at CONTACT the last is folded back into the first."""
    return toy_model(
        *(link(name, shape, xyz="0.02 0.01 -0.03") for name in ("l0", "l1", "l2")),
        joint("j1", "l0", "l1"),
        joint("j2", "l1", "l2"),
        **options,
    )


@pytest.fixture(scope="module")
def chain():
    """Three balls in a row."""
    return three('<sphere radius="0.25"/>')


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    """Renders, and returns pixels (height, width, 3) from 0 to 255."""
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    folder = tmp_path_factory.mktemp("a folder with a space")

    def shot(model, q, **options):
        path = folder / "shot.png"
        path.unlink(missing_ok=True)
        render(model, np.array(q), path, **{"size": (320, 240), **options})
        assert path.read_bytes().startswith(b"\x89PNG")
        image = pyvista.read(path)
        width, height, _ = image.dimensions
        return np.asarray(image.active_scalars, dtype=int).reshape(height, width, -1)[..., :3]

    return shot


def red(pixels):
    """How many pixels are clearly red."""
    return int((pixels[..., 0] - pixels[..., 1:].max(axis=-1) > 25).sum())


def greenish(pixels):
    """How many pixels are more green than the grey-blue of links."""
    return int((pixels[..., 1] - pixels[..., [0, 2]].max(axis=-1) > 5).sum())


def test_it_has_the_size_asked_for_and_shows_something(chain, picture):
    pixels = picture(chain, CLEAR, size=(200, 300))
    assert pixels.shape == (300, 200, 3)
    white = (pixels == 255).all(axis=-1)
    assert 0.05 < 1.0 - white.mean() < 0.95
    assert white[[0, 0, -1, -1], [0, -1, 0, -1]].all()
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50


def test_contact_is_red_and_clearance_is_green(chain, picture):
    assert chain.distance(CLEAR).distance > 0.1 > 0.0 > chain.distance(CONTACT).distance
    clear, contact = picture(chain, CLEAR), picture(chain, CONTACT)
    assert (red(clear), greenish(clear) > 500) == (0, True)
    assert red(contact) > 500


def test_a_pose_and_a_point_of_view_make_a_difference(chain, picture):
    front = picture(chain, CLEAR)
    assert (front == picture(chain, CLEAR)).all()
    assert (front != picture(chain, (1.0, 0.5))).any()
    side = picture(chain, CLEAR, direction=(0.0, 1.0, 0.2))
    assert (front != side).any()
    closer = picture(chain, CLEAR, zoom=2.0)
    assert (closer < 255).sum() > (front < 255).sum()


# Shapes, and what they cover when they are seen along x, square metres.
AREAS = {
    "sphere": ('<sphere radius="0.3"/>', math.pi * 0.09),
    "box": ('<box size="0.2 0.4 0.6"/>', 0.24),
    "cylinder": ('<cylinder radius="0.2" length="0.5"/>', 0.2),
    "capsule": ('<capsule radius="0.2" length="0.3"/>', 0.12 + math.pi * 0.04),
    "mesh": ('<mesh filename="FOLDER/tetrahedron.obj" scale="0.3 0.3 0.3"/>', 0.36),
}
TETRAHEDRON = "v 1 1 1\nv 1 -1 -1\nv -1 1 -1\nv -1 -1 1\nf 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n"
# Two beads at the rim keep the camera at one place whatever stands between them.
BEADS = {
    "obstacles": [
        {"name": name, "type": "sphere", "radius": 0.02, "position": [0, y, 0]}
        for name, y in (("left", 1.5), ("right", -1.5))
    ]
}


def test_shapes_have_their_size_and_leaves_hide_none_of_them(picture, tmp_path):
    (tmp_path / "tetrahedron.obj").write_text(TETRAHEDRON)

    def covered(shape, **options):
        text = robot(link("l0", shape.replace("FOLDER", str(tmp_path))))
        (tmp_path / "one.urdf").write_text(text)
        model = CollisionModel.from_urdf(tmp_path / "one.urdf", scene=BEADS)
        return (picture(model, (), direction=(1.0, 0.0, 0.0), **options) < 250).any(axis=-1)

    sphere = covered(AREAS["sphere"][0], leaves=False).sum() / AREAS["sphere"][1]
    for kind, (shape, area) in AREAS.items():
        bare, with_leaves = covered(shape, leaves=False), covered(shape)
        assert bare.sum() == pytest.approx(area * sphere, rel=0.15), kind
        assert with_leaves.sum() > 0.98 * bare.sum(), kind
        assert (bare & ~with_leaves).sum() < 0.02 * bare.sum(), kind


def test_an_obstacle_is_shown_in_a_colour_of_its_own(chain, picture):
    scene = {"obstacles": [
        {"name": "post", "type": "cylinder", "radius": 0.2, "length": 1.0, "position": [0, 1, 0]}
    ]}  # fmt: skip
    model = three('<sphere radius="0.25"/>', scene=scene)
    pixels = picture(model, CLEAR)
    sandy = (pixels[..., 0] > pixels[..., 1]) & (pixels[..., 1] > pixels[..., 2] + 10)
    assert sandy.sum() > 200
    plain = picture(chain, CLEAR)
    assert ((plain[..., 0] > plain[..., 1]) & (plain[..., 1] > plain[..., 2] + 10)).sum() == 0


def test_a_close_up_shows_the_nearest_points_and_both_pictures_are_cut_to_size(chain, tmp_path):
    pyvista = pytest.importorskip("pyvista")
    paths = tmp_path / "whole.png", tmp_path / "near.png"
    inside = chain.link_poses(np.array(CLEAR))["l2"][:3, 3]
    render(
        chain, np.array(CLEAR), paths[0], leaves=False, size=(320, 240), marked=("l2", "l0"),
        nearest=inside + [[0.0, 0.0, 0.0], [0.0, 0.0, 0.01]], close_up=paths[1],
    )  # fmt: skip
    whole, near = (pyvista.read(path) for path in paths)
    assert whole.dimensions[0] == near.dimensions[0] == 320
    assert whole.dimensions[1] == near.dimensions[1] <= 240
    marked = [red(np.asarray(image.active_scalars, dtype=int)[..., :3]) for image in (whole, near)]
    assert marked[1] > 1.15 * marked[0] > 0


def test_boxes_over_triangles_are_drawn_and_red_where_they_meet(picture):
    model = three('<box size="0.3 0.3 0.3"/>', hierarchy="octree")
    apart = picture(model, CLEAR, boxes=0)
    blue = apart[..., 2] - apart[..., 0] > 40
    assert blue.sum() > 100 and red(apart) == 0
    assert red(picture(model, CONTACT, boxes=0)) > 100
