# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Fits of a whole robot: once each, kept on disk, the budget shared out."""

import logging
import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import trimesh
from support.geometry.free_body import at, mesh_shape
from support.processes import run_python

from collision_monitor.errors import FitError
from collision_monitor.fitting import fitter
from collision_monitor.fitting.shapes import Fit, FitSettings, leaf_rows
from collision_monitor.robot.description import Shape

SETTINGS = FitSettings(2, 0.001)


def bar(x=0.0, length=0.4):
    mesh = trimesh.creation.cylinder(0.05, length, sections=12)
    return mesh_shape(mesh.vertices, mesh.faces, at(x))


@pytest.fixture(autouse=True)
def no_fits(monkeypatch, tmp_path):
    """The store is an empty one."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))


@pytest.fixture
def count(caplog):
    """Return how many meshes were fitted so far, as the log says."""
    caplog.set_level(logging.INFO, fitter.logger.name)
    said = re.compile(r"fitting leaves to (\d+) meshes")
    return lambda: sum(int(match[1]) for match in map(said.match, caplog.messages) if match)


CHANGE_FILES = """
import logging, sys
from pathlib import Path
import numpy as np
import trimesh
from collision_monitor.fitting import fitter
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.robot.description import Shape
ball = trimesh.creation.icosphere(1, 0.1)
links = {"a": [Shape("mesh", np.eye(4), vertices=ball.vertices, triangles=ball.faces)]}
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
for path in [None, None, *map(Path, sys.argv[1:])]:
    print(path)
    if path:
        path.write_bytes(path.read_bytes() + b"#")
    fitter.method_digest.cache_clear()
    fitter.fit_all(links, {}, FitSettings(1, 0.001))
"""


def test_a_change_of_any_file_that_has_a_part_in_a_fit_is_another_fit(tmp_path):
    package = Path(fitter.__file__).parents[1]
    folder = package / "fitting"
    named = re.compile(r"^(?:from|import) collision_monitor\.fitting\.(\w+)", re.MULTILINE)
    found, waiting = set(), ["shapes"]
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += named.findall((folder / f"{name}.py").read_text(encoding="utf-8"))
    assert {"body", "bounding_shapes", "multi_capsule_fit"} <= found
    copied = tmp_path / package.name
    shutil.copytree(package, copied, ignore=shutil.ignore_patterns("*.pyc"))
    files = [copied / "fitting" / f"{name}.py" for name in sorted(found)]
    done = run_python(CHANGE_FILES, *files, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    first, again, *others = re.split(r"^(?:None|\S+\.py)$", done.stdout, flags=re.MULTILINE)[1:]
    assert "fitting leaves" in first and "fitting leaves" not in again
    fitted = ["fitting leaves to 1 meshes" in text for text in others]
    assert fitted == [True] * len(files), dict(zip(files, fitted, strict=True))


def test_equal_shapes_are_fitted_once_and_placed_where_they_are(count):
    fits = fitter.fit_all({"a": [bar()], "b": [bar(2.0)]}, {}, SETTINGS)
    assert count() == 1
    (a,), (b,) = fits["a"], fits["b"]
    for one, other in zip(a.leaves, b.leaves, strict=True):
        assert other.p0 - one.p0 == pytest.approx([2.0, 0, 0])
        assert (one.link, other.link, one.radius) == ("a", "b", other.radius)


def test_the_second_time_nothing_is_fitted_and_the_leaves_are_the_same(count):
    first = fitter.fit_all({"a": [bar()]}, {}, SETTINGS)
    second = fitter.fit_all({"a": [bar()]}, {}, SETTINGS)
    assert count() == 1
    for one, other in zip(first["a"][0].leaves, second["a"][0].leaves, strict=True):
        assert np.array_equal(one.p0, other.p0) and one.radius == other.radius
    assert second["a"][0].union_volume == first["a"][0].union_volume


def test_another_shape_or_another_setting_is_another_fit(count):
    fitter.fit_all({"a": [bar()]}, {}, SETTINGS)
    fitter.fit_all({"a": [bar(length=0.41)]}, {}, SETTINGS)
    fitter.fit_all({"a": [bar()]}, {}, FitSettings(3, 0.001))
    assert count() == 3


def test_watchers_make_another_fit_of_all_equal_shapes(count):
    one, other = np.array([[[0.2, 0.0, 0.0, 1.0]], [[-0.2, 0.0, 0.0, 1.0]]])
    links = {"a": [bar()], "b": [bar(2.0)]}
    fitter.fit_all(links, {}, SETTINGS)
    (fit,) = fitter.fit_all(links, {}, SETTINGS, {"a": [one], "b": [other]})["a"]
    (same,) = fitter.fit_all(links, {}, SETTINGS, {"a": [other], "b": [one]})["a"]
    assert count() == 2 and np.array_equal(leaf_rows(fit.leaves), leaf_rows(same.leaves))
    fitter.fit_all(links, {}, SETTINGS, {"a": [one], "b": [one]})
    assert count() == 3


@pytest.mark.parametrize("kind", ["sphere", "capsule"])
def test_spheres_and_capsules_need_no_watchers(kind):
    size = {"sphere": (0.1,), "capsule": (0.1, 0.3)}[kind]
    closed = Shape(kind, np.eye(4), size)
    assert not fitter.needs_watchers({"a": [closed], "b": []})
    assert fitter.needs_watchers({"a": [closed], "b": [closed, bar()]})
    for other, lengths in (("cylinder", (0.1, 0.3)), ("box", (0.1, 0.2, 0.3))):
        assert fitter.needs_watchers({"a": [Shape(other, np.eye(4), lengths)]})
    (fit,) = fitter.fit_all({"a": [closed]}, {}, SETTINGS)["a"]
    watchers = {"a": [np.array([[0.2, 0.0, 0.0, 1.0]])]}
    (watched,) = fitter.fit_all({"a": [closed]}, {}, SETTINGS, watchers)["a"]
    assert np.array_equal(leaf_rows(fit.leaves), leaf_rows(watched.leaves))


def choice(*steps):
    """Fits of a body of 1 m^2 with so many leaves and such a stand-off."""
    return [Fit((None,) * count, (), off, 1.0) for count, off in steps]


def test_the_budget_goes_where_a_leaf_takes_away_most():
    coarse = choice((1, 0.10), (2, 0.04), (4, 0.03))
    fine = choice((1, 0.02), (2, 0.01))
    assert [len(f.leaves) for f in fitter.share_out([coarse, fine], 3, 0.0)] == [2, 1]
    assert [len(f.leaves) for f in fitter.share_out([coarse, fine], 4, 0.0)] == [2, 2]
    assert [len(f.leaves) for f in fitter.share_out([coarse, fine], 6, 0.0)] == [4, 2]
    assert [len(f.leaves) for f in fitter.share_out([coarse, fine], 6, 0.05)] == [2, 1]
    assert [len(f.leaves) for f in fitter.share_out([coarse, fine], 1, 0.0)] == [1, 1]


def test_within_the_tolerance_means_towards_watchers_too():
    fits = [Fit((None,) * n, (), 0.01, 1.0, lost) for n, lost in ((1, 0.03), (2, 0.01))]
    assert [len(f.leaves) for f in fitter.share_out([fits], 4, 0.02)] == [2]
    assert [len(f.leaves) for f in fitter.share_out([fits], 4, 0.03)] == [1]


def test_leaves_that_pay_least_are_taken_back():
    coarse = choice((1, 0.10), (2, 0.04), (4, 0.03))
    fine = choice((1, 0.02), (2, 0.01))
    plate = choice((1, np.inf), (3, 0.001))  # kept while others have leaves to spare

    def counts(total):
        return [len(f.leaves) for f in fitter.share_out([coarse, fine, plate], total, 0.0)]

    assert counts(9) == [4, 2, 3]
    assert counts(8) == counts(7) == [2, 2, 3]
    assert counts(6) == [2, 1, 3]
    assert counts(5) == [1, 1, 3]
    assert counts(4) == counts(0) == [1, 1, 1]


def test_links_have_three_quarters_of_the_most_in_the_mean():
    links = {name: [bar(length=length)] for name, length in (("a", 0.2), ("b", 0.4), ("c", 0.6))}
    fits = fitter.fit_all(links, {}, FitSettings(4, 0.0))
    leaves = [len(fit.leaves) for per_link in fits.values() for fit in per_link]
    assert max(leaves) <= 4 and sum(leaves) <= 9


def block(size=(0.4, 0.4, 0.4)):
    """A body with corners, around which a few capsules are loose."""
    mesh = trimesh.creation.box(size)
    return mesh_shape(mesh.vertices, mesh.faces)


def seen(*points):
    """Watchers at points."""
    return [np.column_stack([np.array(points, dtype=float), np.ones(len(points))])]


CORNERS = seen(*(0.25 * np.array(signs) for signs in np.ndindex(2, 2, 2) if any(signs)))


def test_a_link_that_is_loose_where_others_come_has_more_leaves(count):
    links = {"block": [block()], **{f"bar{k}": [bar()] for k in range(4)}}
    far = seen([0.5, 0.0, 0.0])
    settings = FitSettings(4, 0.002)
    loose = {"block": CORNERS, **{f"bar{k}": far for k in range(4)}}
    (before,) = fitter.fit_all(links, {}, settings)["block"]
    fits = fitter.fit_all(links, {}, settings, loose)
    (after,) = fits["block"]
    counts = {name: len(fit.leaves) for name, (fit,) in fits.items()}
    assert len(before.leaves) <= 4 < counts["block"] <= 16
    assert all(counts[f"bar{k}"] <= 4 for k in range(4))
    assert sum(counts.values()) <= 1.75 * 4 * len(links)
    few = fitter.fits_in_own_frame(block(), 4, 0.002, CORNERS[0])[-1]
    assert few.lost > 0.01 and after.lost < 0.7 * few.lost
    # The second time nothing is fitted.
    calls = count()
    (again,) = fitter.fit_all(links, {}, settings, loose)["block"]
    assert count() == calls
    assert np.array_equal(leaf_rows(again.leaves), leaf_rows(after.leaves))


@pytest.mark.parametrize(
    ("settings", "watchers"),
    [
        (FitSettings(4, 0.05), CORNERS),  # as tight as was asked for
        (FitSettings(1, 0.002), CORNERS),  # one leaf means one leaf
        (FitSettings(4, 0.002), [np.empty((0, 4))]),  # nothing comes near
    ],
)
def test_no_other_link_has_more_leaves(settings, watchers):
    links = {"block": [block()], "bar": [bar()]}
    given = {"block": watchers, "bar": [np.empty((0, 4))]}
    (fit,) = fitter.fit_all(links, {}, settings, given)["block"]
    assert len(fit.leaves) <= settings.max_leaves_per_link


def test_a_box_among_other_shapes_of_a_loose_link_has_more_leaves():
    box = Shape("box", np.eye(4), (0.5, 0.3, 0.2))
    shapes = [box, bar(0.3), bar(-0.3), bar(0.35)]
    links = {"base": shapes, "bar": [bar()], "other": [bar()]}
    near = {"base": [CORNERS[0]] * 4, "bar": [np.empty((0, 4))], "other": [np.empty((0, 4))]}
    settings = FitSettings(4, 0.002)
    before = fitter.fit_all(links, {}, settings)["base"]
    after = fitter.fit_all(links, {}, settings, near)["base"]
    assert len(before[0].leaves) == 1 < len(after[0].leaves)
    assert after[0].stand_off < 0.5 * before[0].stand_off


@pytest.mark.parametrize("fault", [FitError, KeyboardInterrupt])
def test_a_fault_in_one_fit_waits_for_no_other(monkeypatch, fault):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    links = {str(k): [block((0.3 + 0.01 * k, 0.4, 0.4))] for k in range(12)}
    begin = time.process_time()
    fitter.fit_all({"other": [block((0.2, 0.4, 0.4))]}, {}, FitSettings(6, 0.0))
    of_one = time.process_time() - begin
    others = threading.enumerate()
    if fault is FitError:
        empty = Shape("mesh", np.eye(4), vertices=np.empty((0, 3)), triangles=[[0, 0, 0]])
        links = {"empty": [empty]} | links
    # Also where tests run in a process that ignores Ctrl-C.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(fault):
        if fault is KeyboardInterrupt:
            threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        fitter.fit_all(links, {}, FitSettings(6, 0.0))
    signal.signal(signal.SIGINT, handler)
    # One may have begun when the first failed; the others never do.
    begin = time.process_time()
    for thread in set(threading.enumerate()).difference(others):
        thread.join(600.0)
    assert time.process_time() - begin < 4.0 * of_one
