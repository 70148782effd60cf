# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""CollisionModel: answers that agree with each other, and errors that name what is wrong."""

import numpy as np
import pytest
from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError, NothingToCheckError, SceneError
from collision_monitor.hierarchy import query
from collision_monitor.robot import Obstacle, Scene, Shape


@pytest.fixture(scope="module")
def model():
    """A chain of five with a wall beside it."""
    wall = {"name": "wall", "type": "box", "size": [4, 0.1, 2], "position": [1, 4, 0]}
    return CollisionModel.from_urdf(chain(5), scene={"obstacles": [wall]})


def test_a_stretched_chain_is_as_far_apart_as_it_looks(model):
    clearance = model.distance([0.0, 0.0, 0.0, 0.0])
    assert clearance.distance == pytest.approx(1.8)
    assert clearance.normal == pytest.approx([1, 0, 0])
    a, b = clearance.points
    assert b - a == pytest.approx([1.8, 0, 0])
    assert clearance.links in model.pairs
    assert "1.8" in repr(clearance)


def test_distance_distances_batch_and_contacts_agree(model):
    rows = model.random_configurations(300, seed=9)
    batch = model.min_distances(rows)
    for q, least in zip(rows, batch, strict=True):
        clearance, every = model.distance(q), model.distances(q)
        assert every.shape == (len(model.pairs),)
        assert clearance.distance == pytest.approx(least, abs=1e-12)
        assert every.min() == pytest.approx(least, abs=1e-12)
        assert every[model.pairs.index(clearance.links)] == pytest.approx(least, abs=1e-12)
        some = np.array([len(every) - 1, 0])
        assert model.pair_distances(q[None], some)[0].tolist() == every[some].tolist()
        touching = {
            frozenset((model.leaves[i].link, model.leaves[j].link))
            for i, j in model.contacts(q, margin=0.2)
        }
        near = {frozenset(p) for p, d in zip(model.pairs, every, strict=True) if d < 0.2}
        assert touching == near


@pytest.mark.parametrize("threads", [1, 2, 0])
@pytest.mark.parametrize("margin", [0.0, 0.3, -0.05])
def test_is_clear_says_what_the_distances_say_in_any_number_of_threads(model, margin, threads):
    rows = model.random_configurations(2000, seed=4)
    least = model.min_distances(rows)
    assert np.array_equal(model.min_distances(rows, threads=threads), least)
    clear = model.is_clear(rows, margin, threads=threads)
    assert clear.dtype == bool and 0 < clear.sum() < len(rows)
    assert np.array_equal(clear, least >= margin)


def test_a_bad_row_is_named_by_its_place_in_the_whole_batch(model):
    rows = model.random_configurations(1000)
    rows[777, 1] = np.nan
    for call in (model.min_distances, model.is_clear):
        with pytest.raises(ConfigurationError, match="row 777: joint 'j2' is at nan"):
            call(rows, threads=2)


@pytest.mark.parametrize("margin", [np.nan, np.inf, -np.inf, "0.1", None, [0.1, 0.1]])
def test_a_margin_that_is_no_length_is_refused(model, margin):
    rows = model.random_configurations(2)
    for call in (lambda: model.is_clear(rows, margin), lambda: model.contacts(rows[0], margin)):
        with pytest.raises(ConfigurationError, match="margin: .* is not a length in metres"):
            call()


def test_lists_and_other_types_of_numbers_are_configurations_too(model):
    expected = model.distance(np.array([0.1, 0, 1, 0])).distance
    assert model.distance([0.1, 0, 1, 0]).distance == expected
    assert model.distance(np.array([0.1, 0, 1, 0], dtype=np.float32)).distance == pytest.approx(
        expected, abs=1e-6
    )
    strided = np.array([[0.1, 9], [0, 9], [1, 9], [0, 9]])[:, 0]
    assert model.distance(strided).distance == expected
    assert model.min_distances([[0.1, 0, 1, 0]])[0] == expected


def test_arrays_that_are_read_only_compile_nothing(model):
    rows = model.random_configurations(3)
    calls = model.min_distances, model.is_clear, model.pair_distances
    expected = [call(rows) for call in calls]
    rows.flags.writeable = False
    kernels = query.min_distances, query.clear_rows, query.pair_distances
    compiled = [len(kernel.signatures) for kernel in kernels]
    for call, values in zip(calls, expected, strict=True):
        np.testing.assert_array_equal(call(rows), values)
    assert [len(kernel.signatures) for kernel in kernels] == compiled


@pytest.mark.parametrize(
    ("q", "says"),
    [
        ([0.0, 0.0, 0.0], r"shape \(3,\).*4 joints: j1, j2, j3, j4"),
        ([[0.0] * 4], r"shape \(1, 4\)"),
        ([0.0, np.nan, 0.0, 0.0], "'j2' is at nan"),
        ([0.0, None, 0.0, 0.0], "'j2' is at nan"),
        ([0.0, 0.0, 0.0, -np.inf], "'j4' is at -inf"),
        (["a", "b", "c", "d"], "not an array of numbers"),
        (None, "q"),
    ],
)
def test_a_bad_configuration_is_named(model, q, says):
    asked = model.distance, model.distances, model.contacts, model.leaf_segments, model.link_poses
    for ask in asked:
        with pytest.raises(ConfigurationError, match=says if ask != model.distances else None):
            ask(q)


def test_the_shape_of_a_batch_is_checked(model):
    for rows in (np.zeros((5, 3)), np.zeros(4), []):
        for call in (model.min_distances, model.pair_distances, lambda r: model.near_shares(r, 0)):
            with pytest.raises(ConfigurationError, match=r"\(N, 4\)"):
                call(rows)
    assert model.min_distances(np.empty((0, 4))).shape == (0,)


def test_a_pair_that_does_not_exist_is_named(model):
    q = np.zeros(4)
    for call in (
        lambda pairs: model.surface_distances(q, pairs),
        lambda pairs: model.exact_bounds(q, pairs, [0.1], 1.0),
    ):
        for pair in (1_000_000, len(model.pairs), -1):
            with pytest.raises(IndexError, match=f"no pair {pair}"):
                call([0, pair])
        mask = np.arange(len(model.pairs)) == len(model.pairs) - 1
        assert np.array_equal(call(mask), call([len(model.pairs) - 1]))


@pytest.mark.parametrize(
    ("name", "on", "says"),
    [
        ("l2", "l0", "'l2': a link or an obstacle has this name"),  # it would replace the link
        ("wall", "l0", "'wall': a link or an obstacle has this name"),
        ("post", "l9", "'post': there is no link 'l9'"),
    ],
)
def test_an_obstacle_has_a_name_and_a_link_of_its_own(model, name, on, says):
    ball = Obstacle(name, on, Shape("sphere", np.eye(4), (0.1,)))
    scene = Scene((*model.scene.obstacles, ball))
    for load in (model.with_scene, lambda scene: CollisionModel(model.robot, scene=scene)):
        with pytest.raises(SceneError, match=f"obstacle {says}"):
            load(scene)


def test_a_model_without_pairs_loads_but_refuses_to_say_clear():
    model = CollisionModel.from_urdf(chain(2))
    assert model.pairs == []
    assert model.distances([0.0]).shape == (0,)
    for ask in (model.distance, lambda q: model.min_distances([q])):
        with pytest.raises(NothingToCheckError, match="no pair of links"):
            ask([0.0])


def test_a_robot_that_cannot_move_still_answers():
    text = robot(link("a"), link("b"), joint("f", "a", "b", "fixed", xyz="3 0 0"))
    model = CollisionModel.from_urdf(text)
    assert model.joint_names == ()
    assert model.leaf_segments([]).shape == (2, 2, 3)
    with pytest.raises(NothingToCheckError):
        model.distance([])


def test_random_configurations_keep_to_the_limits_and_repeat(model):
    rows = model.random_configurations(500, seed=4)
    assert (rows >= model.lower).all() and (rows <= model.upper).all()
    assert (rows == model.random_configurations(500, seed=4)).all()
    assert not (rows == model.random_configurations(500, seed=5)).any()


def test_more_contacts_than_expected_are_all_returned():
    balls = [
        {"name": f"b{k}", "type": "sphere", "radius": 5.0, "position": [k * 1e-3, 0, 0]}
        for k in range(150)
    ]
    model = CollisionModel.from_urdf(chain(4), scene={"obstacles": balls})
    pairs = model.contacts([0.0, 0.0, 0.0])
    assert len(pairs) == len(set(pairs)) == 3 * 150


def test_joints_between_links_obstacles_and_what_stands_on_the_base():
    box = {"name": "tool", "type": "sphere", "radius": 0.01, "position": [0, 0, 0], "link": "l3"}
    model = CollisionModel.from_urdf(chain(5), scene={"obstacles": [box]})
    assert model.joints_between("l1", "l3") == model.bodies.joints_between("l1", "l3") != []
    assert model.joints_between("l1", "tool") == model.joints_between("l1", "l3")
    assert model.joints_between("l3", "cell/7") == model.joints_between("l0", "l3")
