# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The fit of Zhang et al. as a choice: one leaf a shape, that encloses it; looser on real arms."""

import numpy as np
import pytest
import trimesh
from support.robots.robots import load_model
from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.__main__ import main
from collision_monitor.errors import FitError
from collision_monitor.fitting.bounding_shapes import fit_leaf
from collision_monitor.fitting.enclosure import check_enclosing
from collision_monitor.fitting.fitter import given_leaves
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.model.loading import Recipe, RobotSource
from collision_monitor.robot.urdf import load_robot


def by_link(model):
    found: dict[str, list[Leaf]] = {}
    for leaf in model.leaves:
        found.setdefault(leaf.link, []).append(leaf)
    return found


def test_every_shape_has_one_leaf_that_encloses_it(tmp_path):
    mesh = trimesh.creation.icosphere(2).apply_scale([0.1, 0.05, 0.3])
    mesh.export(tmp_path / "m.stl")
    text = robot(
        link("a", '<box size="0.1 0.2 0.6"/>', "1 2 3"),
        link("b", '<cylinder radius="0.1" length="0.8"/>', "0 0.1 0"),
        link("c", f'<mesh filename="{tmp_path}/m.stl"/>', "0 0.1 0"),
        link("d", '<sphere radius="0.3"/>'),
        joint("x", "a", "b"), joint("y", "b", "c"), joint("z", "c", "d"),
    )  # fmt: skip
    loaded = load_robot(text, ())
    leaves = given_leaves(loaded, FitSettings(), fit="published")
    check_enclosing(loaded, leaves)
    assert {name: len(own) for name, own in leaves.items()} == dict.fromkeys("abcd", 1)
    points = np.asarray(mesh.vertices) + [0.0, 0.1, 0.0]
    assert leaves["c"][0].volume == pytest.approx(fit_leaf(points).volume, rel=1e-6)
    assert leaves["b"][0].radius == pytest.approx(0.1, rel=3e-3)
    assert (leaves["d"][0].kind, leaves["d"][0].radius) == ("sphere", 0.3)


def test_a_model_has_these_leaves_in_every_way_to_load_it():
    text = chain(4)
    wanted = {name: len(own) for name, own in by_link(
        CollisionModel.from_urdf(text, fit="published")).items()}  # fmt: skip
    assert set(wanted.values()) == {1}
    for sources in ((RobotSource(text),), (RobotSource(text, name="one", prefix="a/"),)):
        loaded = Recipe(sources, fit="published", hierarchy="rss").load().model
        assert {len(own) for own in by_link(loaded).values()} == {1}
        assert loaded.hierarchy == "rss"


def test_on_a_real_arm_it_is_larger_than_the_boxes():
    model = load_model("ur5", fit="published")
    fits = [fit for own in model.fits.values() for fit in own]
    ratio = sum(f.union_volume for f in fits) / sum(f.volumes.obb for f in fits)
    assert ratio == pytest.approx(1.64, abs=0.01)
    q = model.random_configurations(20)
    assert model.distances(q[0]) == pytest.approx(
        [min(d, t) for d, t in zip(model.distances(q[0]), model.distances(q[0], exact=True),
                                   strict=True)]
    )  # fmt: skip


def test_what_cannot_be_is_refused():
    with pytest.raises(FitError, match="'best' is not one of optimised, published"):
        CollisionModel.from_urdf(chain(3), fit="best")
    with pytest.raises(FitError, match="both given"):
        CollisionModel.from_urdf(chain(3), fit="published", leaves={"leaves": {}})


def test_a_written_file_names_the_fit_and_no_settings_that_it_does_not_have(tmp_path):
    urdf, leaves = tmp_path / "chain.urdf", tmp_path / "leaves.yaml"
    urdf.write_text(chain(3))
    for fit, settings in (("published", 0), ("optimised", 2)):
        assert main(["fit", str(urdf), "--fit", fit, "--output", str(leaves)]) == 0
        text = leaves.read_text()
        assert f"# fit: {fit}" in text
        assert ("max_leaves_per_link" in text) + ("leaf_tolerance" in text) == settings


@pytest.mark.parametrize(
    ("option", "setting", "value"),
    [("--max-leaves", "max_leaves_per_link", 3), ("--leaf-tolerance", "leaf_tolerance", 0.01)],
)
def test_settings_that_the_fit_does_not_have_are_refused(option, setting, value, written, capsys):
    says = f"{setting}: {value} has no effect with fit 'published'"
    with pytest.raises(FitError, match=says):
        CollisionModel.from_urdf(chain(3), fit="published", **{setting: value})
    for name in ("", "one"):
        with pytest.raises(FitError, match=says):
            Recipe((RobotSource(chain(3), name=name),), fit="published", **{setting: value}).load()
    path = written("chain.urdf", chain(3))
    words = [str(path), "--fit", "published", option, str(value)]
    for command in (["fit", *words], ["verify", *words, "m.yaml", "--other", str(path)]):
        assert main(command) == 2
        assert says in capsys.readouterr().err
