# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Loading is bounded in numbers, memory and time; the error says which limit, and by how much."""

import itertools
import time
import tracemalloc

import numpy as np
import pytest
from support.robots.toys import chain, link, robot

from collision_monitor import CollisionModel
from collision_monitor.common.limits import LoadingLimits, check_time, limited
from collision_monitor.errors import LoadingLimitError
from collision_monitor.model.loading import Recipe, RobotSource
from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.robot.pairs import count_pairs, select_pairs
from collision_monitor.robot.urdf import load_robot

STL = "solid a\n" + "".join(
    f"facet normal 0 0 0\nouter loop\nvertex 0 0 {k}\nvertex 1 0 {k}\nvertex 0 1 {k}\n"
    "endloop\nendfacet\n" for k in range(5)
) + "endsolid a\n"  # fmt: skip


def spheres(count):
    return {"obstacles": [{"name": f"o{k}", "type": "sphere", "radius": 0.1} for k in range(count)]}


def mesh_scene(folder, count):
    (folder / "a.stl").write_text(STL)
    return {"obstacles": [
        {"name": f"o{k}", "type": "mesh", "file": str(folder / "a.stl")} for k in range(count)
    ]}  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "count", "says"),
    [
        (LoadingLimits(max_links=3), 0, "has 4 links with shapes; at most 3 .* 1 more .*max_links"),
        (LoadingLimits(max_shapes=5), 2, "has 6 shapes .* at most 5 .* 1 more .*max_shapes"),
        (LoadingLimits(max_triangles=12), 3, "has 15 triangles; at most 12 .* 3 more .*triangles"),
        (LoadingLimits(max_pairs=2), 0, "has 3 pairs to check; at most 2 .* 1 more .*max_pairs"),
        (LoadingLimits(max_load_seconds=1e-6), 1, "after .* s more than .*max_load_seconds"),
    ],
)
def test_each_limit_is_an_error_that_says_which_and_by_how_much(tmp_path, limits, count, says):
    scene = mesh_scene(tmp_path, count)
    with pytest.raises(LoadingLimitError, match=says):
        CollisionModel.from_urdf(chain(4), scene=scene, limits=limits)
    for robots in ((RobotSource(chain(4)),), (RobotSource(chain(4), name="a", prefix="a/"),)):
        path = tmp_path / "scene.yaml"
        path.write_text(str(scene))
        with pytest.raises(LoadingLimitError, match="limit max_"):
            Recipe(robots, scene=str(path), limits=limits).load()


def test_joints_that_move_no_shape_are_counted():
    text = chain(4).replace("</robot>", "".join(
        f'<link name="f{k}"/><joint name="m{k}" type="continuous"><parent link="l3"/>'
        f'<child link="f{k}"/></joint>' for k in range(10)
    ) + "</robot>")  # fmt: skip
    with pytest.raises(LoadingLimitError, match="has 13 joints that move; at most 12 .*max_links"):
        CollisionModel.from_urdf(text, limits=LoadingLimits(max_links=12))
    assert CollisionModel.from_urdf(text, limits=LoadingLimits(max_links=13)).pairs


def test_limits_that_are_kept_change_nothing():
    limits = LoadingLimits(max_links=4, max_shapes=6, max_triangles=1, max_pairs=11)
    found = CollisionModel.from_urdf(chain(4), scene=spheres(2), limits=limits)
    assert found.pairs == CollisionModel.from_urdf(chain(4), scene=spheres(2)).pairs
    assert len(found.pairs) == 9


@pytest.mark.parametrize("where", ["scene", "link", "links"])
def test_a_hundred_thousand_obstacles_are_refused_at_once(where):
    scene = None
    if where == "scene":
        text, scene = chain(4), spheres(100_000)
    elif where == "link":
        one = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
        text = chain(4).replace("</robot>", f'<link name="o">{one * 100_000}</link></robot>')
    else:
        text = robot(*(link(f"o{k}") for k in range(50_000)))
    tracemalloc.start()
    begin = time.process_time()
    with pytest.raises(LoadingLimitError, match="max_links|max_shapes"):
        CollisionModel.from_urdf(text, scene=scene)
    assert time.process_time() - begin < 10.0
    assert tracemalloc.get_traced_memory()[1] < 500e6
    tracemalloc.stop()


def test_running_out_of_memory_is_an_error_of_loading():
    with pytest.raises(LoadingLimitError, match="not enough memory"), limited():
        np.empty(2**46)


def test_a_block_in_another_has_the_limits_of_the_other():
    with limited(LoadingLimits(max_load_seconds=0.0)), limited(LoadingLimits()):
        time.sleep(0.001)
        with pytest.raises(LoadingLimitError, match="while waiting"):
            check_time("waiting")
    check_time("nothing is loaded")


def test_pairs_are_counted_without_listing_them():
    rng = np.random.default_rng(0)
    for _ in range(50):
        body_of = {str(k): int(rng.integers(0, 4)) for k in range(12)}
        names = list(body_of)
        links, obstacles = names[:7], names[7:]
        checked, _ = select_pairs(links, obstacles, body_of, {})
        assert count_pairs([*links, *obstacles], body_of) == len(checked)


def test_the_time_for_a_chain_grows_no_faster_than_its_pairs():
    seconds = {}
    for count in (3, 100, 300) * 2:  # the first compiles; the least is free of other processes
        begin = time.process_time()
        model = CollisionModel.from_urdf(chain(count))
        model.sampled_distances(exact=False)
        seconds[count] = min(seconds.get(count, np.inf), time.process_time() - begin)
    assert len(model.pairs) == 299 * 298 // 2
    assert seconds[300] < 20.0 * seconds[100]  # 9 times as many pairs; by the cube, 27 times


def test_joints_between_links_are_those_of_one_chain_and_not_of_the_other():
    parts = [link(f"l{k}") for k in range(9)]
    parents = [0, 0, 1, 1, 2, 3, 3, 6]
    for k, parent in enumerate(parents, 1):
        parts.append(
            f'<joint name="j{k}" type="revolute"><parent link="l{parent}"/><child link="l{k}"/>'
            '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        )
    loaded = load_robot(robot(*parts))
    bodies = rigid_bodies(loaded)
    for a, b in itertools.combinations(loaded.links, 2):
        chains = [set(bodies.chain(bodies.link_bodies[name]).tolist()) for name in (a, b)]
        expected = sorted({int(bodies.columns[row]) for row in chains[0] ^ chains[1]})
        assert bodies.joints_between(a, b) == expected


@pytest.mark.parametrize(
    ("option", "value"),
    [("--max-links", "3"), ("--max-shapes", "3"), ("--max-pairs", "2"),
     ("--max-load-seconds", "1e-6")],
)  # fmt: skip
def test_commands_have_them_as_options(tmp_path, capsys, option, value):
    from collision_monitor.__main__ import main

    (tmp_path / "robot.urdf").write_text(chain(4))
    assert main(["distance", str(tmp_path / "robot.urdf"), option, value]) == 2
    assert f"option {option}" in capsys.readouterr().err
