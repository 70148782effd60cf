# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The page: the verdict first, everything in one file, nothing of the input taken for HTML."""

import re

import lxml.html
import numpy as np
import pytest
from support.files.made_verifications import colliding, model, motion, safe, unchecked
from support.robots import space_arm_story
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.clearance.clearance_check import check_clearance
from collision_monitor.verification.report.messages import headline
from collision_monitor.verification.report.report_page import (
    clearance_section,
    pair_groups,
    report,
    write_reports,
)
from collision_monitor.viewer.picture import render

pytest.importorskip("matplotlib")
pytest.importorskip("pyvista")
pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def pages():
    """Text by verdict."""
    results = safe(), colliding(), unchecked()
    return {r.verdict.value: report(model(), r, render=render) for r in results}


@pytest.mark.parametrize("result", [safe, colliding, unchecked])
def test_the_first_line_is_the_verdict(pages, result):
    tree = lxml.html.fromstring(pages[result().verdict.value])
    first = tree.find("body").xpath(".//text()[normalize-space()]")[0]
    assert first == headline(result())
    assert first.lower().startswith(result().verdict.value)


def test_it_needs_no_network_and_no_other_file(pages):
    for text in pages.values():
        assert not re.search(r"<script|<link|@import|url\((?!#)", text)
        for source in re.findall(r'(?:src|href)="([^"]*)"', text):
            assert source.startswith(("data:", "#")), source


def test_names_out_of_files_stay_text(pages):
    text = pages["not safe"]
    assert "fold &lt;1&gt;.csv" in text
    assert "a &lt;note&gt; &amp; more" in text
    assert "<note>" not in text


def test_violations_plots_and_the_nearest_moment_are_there(pages):
    tree = lxml.html.fromstring(pages["not safe"])
    titles = [h.text for h in tree.iter("h2")]
    assert titles == [
        "Checks", "Violations", "The nearest moment", "Distances", "Joints", "Notes",
    ]  # fmt: skip
    result = colliding()
    rows = [
        [cell.text_content() for cell in row]
        for row in tree.xpath("//h2[.='Violations']/following::table[1]/tbody/tr")
    ]
    assert [(row[0], row[1]) for row in rows] == [
        (v.code.value, v.subject) for v in result.violations
    ]
    assert len(tree.xpath("//figure/*[local-name()='svg']")) == 6
    picture = tree.xpath("//img/@src")[0]
    assert picture.startswith("data:image/png;base64,iVBOR")


def test_what_was_not_checked_shows_why_and_no_plots(pages):
    text = pages["could not be checked"]
    assert "no_joint" in text
    assert "<svg" not in text


def test_several_motions_get_a_page_each_and_one_that_lists_them(tmp_path):
    results = [unchecked(), safe(), colliding()]
    paths = write_reports(tmp_path / "r.html", model(), results)
    assert [path.name for path in paths] == ["r.html", "r-1.html", "r-2.html", "r-3.html"]
    listed = lxml.html.parse(paths[0]).getroot()
    title = listed.find("body/h1")
    assert title.text == "3 motions: 1 could not be checked, 1 not safe, 1 safe"
    assert title.get("class") == "unknown"
    for row, path, result in zip(listed.xpath("//tbody/tr"), paths[1:], results, strict=True):
        (link,) = row.xpath(".//a")
        assert (link.get("href"), link.text) == (path.name, result.source)
        assert result.verdict.value in row.text_content()
        assert lxml.html.parse(path).xpath("//a/@href") == ["r.html"]
    assert "no_joint" in paths[0].read_text()


def section(thresholds, ends=(0.0, 3.1, 3.1)):
    """Of the chain that folds onto itself; and the check."""
    check = check_clearance(model(), motion(ends).trajectory, thresholds)
    return clearance_section(check, model()), check


def test_levels_are_those_that_all_pairs_have():
    rules = (Rule("l0 l2", stop=0.2),)
    found, check = section(Thresholds(warn=0.3, stop=0.05, rules=rules))
    by_group, least, nearest = found.plots
    assert [curve.label for curve in by_group.curves] == ["fixed links", "own links"]
    for plot in found.plots:
        assert plot.levels == [(0.0, "collision"), (0.3, "warn")]
    measured, certain = least.curves
    assert (measured.values == check.series.upper.min(axis=1)).all()
    assert (certain.values == check.series.lower.min(axis=1)).all()


def test_a_mark_tells_when_pairs_came_too_near_first():
    found, check = section(Thresholds())
    ((when, label),) = found.plots[0].marks
    assert when == min(v.first for v in check.violations)
    assert label == f"collision from {when:.3f} s"
    assert section(Thresholds(warn=5.0), (0.1, 0.1, 0.1))[0].plots[0].marks == []


def test_pairs_are_grouped_by_what_the_robot_is_near_to():
    """The space arm, as in the paper: its own links, the cabin that stands still, each wing."""
    found = pair_groups(space_arm_story.model())
    pairs = space_arm_story.model().pairs
    wings = {"port_wing", "starboard_wing"}
    assert set(found) == {"own links", "fixed links", "within the scene", *wings}
    assert sorted(np.concatenate(list(found.values())).tolist()) == list(range(len(pairs)))
    for name, words in (
        ("own links", ("arm_", "arm_")), ("fixed links", ("arm_", "module")),
        ("port_wing", ("arm_", "port_")), ("starboard_wing", ("arm_", "starboard_")),
    ):  # fmt: skip
        for k in found[name]:
            assert all(word in " ".join(pairs[k]) for word in words)
    obstacle = {"obstacles": [{"name": "post", "type": "sphere", "radius": 0.1,
                               "position": [9.0, 0.0, 0.0]}]}  # fmt: skip
    with_post = pair_groups(CollisionModel.from_urdf(chain(4), scene=obstacle))
    assert set(with_post) == {"own links", "fixed links", "obstacles"}


def test_distances_within_the_scene_are_plotted_where_they_change_only():
    scene = {
        "joints": [{"name": "door", "type": "revolute", "axis": [0, 0, 1], "lower": -2.0,
                    "upper": 2.0, "velocity": 1.0, "position": [5.0, 0.0, 0.0]}],
        "obstacles": [
            {"name": "leaf", "type": "box", "size": [1.0, 0.1, 1.0], "position": [0.5, 0.0, 0.0],
             "joint": "door"},
            {"name": "post", "type": "sphere", "radius": 0.1, "position": [8.0, 0.0, 0.0]},
        ],
    }  # fmt: skip
    with_door = CollisionModel.from_urdf(chain(3), scene=scene)
    names = with_door.joint_names
    curves = {}
    for door in (0.0, 1.5):
        ends = np.zeros((2, len(names)))
        ends[1, [0, names.index("door")]] = 0.2, door
        moved = Trajectory.through(names, np.array([0.0, 2.0]), ends)
        found = clearance_section(check_clearance(with_door, moved, Thresholds()), with_door)
        curves[door] = found.plots[0].curves
    groups = ["door", "fixed links", "obstacles"]
    labels = [curve.label for curve in curves[0.0]]
    assert "within the scene" not in labels and set(labels) <= {*groups, "own links"}
    assert [curve.label for curve in curves[1.5]] == [*labels, "within the scene"]
    styles = [curve.style for curve in curves[1.5]]
    assert len(set(styles)) == min(len(styles), 4)


def test_the_curve_of_a_group_is_that_of_its_nearest_pair_that_moves():
    found, check = section(Thresholds())
    groups, upper = pair_groups(model()), check.series.upper
    for curve in found.plots[0].curves:
        columns = groups[curve.label]
        moving = columns[np.ptp(upper[:, columns], axis=0) > 1e-3]
        assert (curve.values == upper[:, moving].min(axis=1)).all()


def test_the_neighbourhood_of_a_mounting_does_not_hide_a_group_unless_it_is_too_near():
    """A post beside the first link, which the others leave: its distance hardly changes."""
    post = {"obstacles": [{"name": "post", "type": "sphere", "radius": 0.02,
                           "position": [-0.3, 0.0, 0.0]}]}  # fmt: skip
    beside = CollisionModel.from_urdf(chain(4), scene=post)
    names = beside.joint_names
    moved = Trajectory.through(names, [0.0, 2.0], [[0.0] * len(names), [1.5, 0.0, 0.0]])
    for thresholds, hidden in ((Thresholds(), False), (Thresholds(warn=5.0), True)):
        check = check_clearance(beside, moved, thresholds)
        upper, columns = check.series.upper, pair_groups(beside)["obstacles"]
        still = columns[np.ptp(upper[:, columns], axis=0) < 1e-3]
        assert len(still) == 1 and upper[:, still].max() < upper[-1, columns].mean()
        curves = {c.label: c for c in clearance_section(check, beside).plots[0].curves}
        flat = np.ptp(curves["obstacles"].values) < 1e-3
        assert flat == hidden, "a pair within its threshold is always shown"
