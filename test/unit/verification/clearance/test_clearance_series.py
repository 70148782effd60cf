# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Envelopes of the clearance of every pair, and the certificate that needs no envelopes."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from support.geometry.scan_cases import random_motion, two_arms

from collision_monitor.errors import ConfigurationError
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.clearance.clearance_check import (
    Certifier,
    CollisionVerdict,
    check_clearance,
)
from collision_monitor.verification.clearance.schedule import Schedule


@pytest.fixture(scope="module")
def model():
    return two_arms()


@pytest.fixture(scope="module")
def series(model):
    return check_clearance(model, random_motion(model, 11, 5, 3), bins=25).series


def test_the_worst_comes_first_with_its_place(model, series):
    distances = [minimum.distance for minimum in series.minima]
    assert distances == sorted(distances)
    assert {minimum.pair for minimum in series.minima} == set(model.pairs)
    schedule = Schedule(model, random_motion(model, 11, 5, 3))
    for minimum in series.minima:
        q = minimum.q
        assert (q == schedule.configuration(minimum.time)).all()
        asked = model.distances(q)[model.pairs.index(minimum.pair)]
        assert asked == pytest.approx(minimum.distance)
        one, other = (model.leaf_segments(q)[leaf] for leaf in minimum.leaves)
        assert tuple(model.leaves[leaf].link for leaf in minimum.leaves) == minimum.pair
        gap = np.linalg.norm(minimum.points[1] - minimum.points[0])
        assert gap == pytest.approx(abs(minimum.distance), abs=1e-9)
        for point, ends, leaf in zip(minimum.points, (one, other), minimum.leaves, strict=True):
            u = ends[1] - ends[0]
            s = np.clip((point - ends[0]) @ u / max(u @ u, 1e-30), 0, 1)
            off = np.linalg.norm(point - ends[0] - s * u)
            assert off == pytest.approx(model.leaves[leaf].radius, abs=1e-6) or minimum.distance < 0


def test_envelopes_are_ordered_and_cover_all_of_the_motion(model, series):
    assert series.edges[0] == 0.0
    assert series.edges[-1] == pytest.approx(3.0)
    assert series.lower.shape == (len(series.times), len(model.pairs))
    assert (series.lower <= series.upper).all()
    assert (series.when >= series.edges[:-1, None]).all()
    assert (series.when <= series.edges[1:, None]).all()
    for minimum in series.minima:
        k = model.pairs.index(minimum.pair)
        assert series.lower[:, k].min() == minimum.lower
        assert series.upper[:, k].min() == minimum.distance


def test_the_file_has_them_worst_pair_first(series, tmp_path):
    path = tmp_path / "clearance.csv"
    series.write_csv(path)
    header, *rows = list(csv.reader(path.open()))
    names = [" - ".join(minimum.pair) for minimum in series.minima]
    assert header == ["from", "to", *(f"{n} {side}" for n in names for side in ("lower", "upper"))]
    table = np.array(rows, dtype=float)
    k = series.pairs.index(series.minima[1].pair)
    assert np.allclose(table[:, 0], series.edges[:-1])
    assert np.allclose(table[:, 4], series.lower[:, k], atol=1e-8)
    assert np.allclose(table[:, 5], series.upper[:, k], atol=1e-8)


def test_names_of_links_may_have_commas_and_quotes(series, tmp_path):
    pairs = (("a, b", 'c "d"'), *series.pairs[1:])
    named = dict(zip(series.pairs, pairs, strict=True))
    minima = tuple(replace(each, pair=named[each.pair]) for each in series.minima)
    path = tmp_path / "clearance.csv"
    replace(series, pairs=pairs, minima=minima).write_csv(path)
    assert 'a, b - c "d" lower' in next(csv.reader(path.open()))


def test_a_file_that_cannot_be_written_is_an_error(series, tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be written"):
        series.write_csv(tmp_path / "none" / "clearance.csv")


def short(model, seed):
    """A motion of about a hand's width."""
    rng = np.random.default_rng(seed)
    q = model.random_configurations(1, seed)[0]
    rows = q + rng.uniform(-0.1, 0.1, (3, len(q)))
    return Trajectory.through(model.joint_names, [0.0, 0.5, 1.0], rows, 0.2 * rows)


def test_it_says_what_the_full_check_says(model):
    leaves, shapes = Certifier(model, exact=False), Certifier(model)
    said = {False: 0, True: 0}
    for seed in range(30):
        motion = short(model, seed)
        schedule = Schedule(model, motion)
        for certifier, exact in ((leaves, False), (shapes, True)):
            found = check_clearance(model, motion, exact=exact, bins=5, threads=1)
            clear = certifier.certify(schedule)
            assert clear == (found.verdict is CollisionVerdict.FREE)
            said[clear] += 1
        assert leaves.certify(schedule) <= shapes.certify(schedule)
    assert min(said.values()) > 5


def test_a_margin_is_kept_by_all_samples(model):
    certifier, kept = Certifier(model), 0
    for seed in range(20):
        schedule = Schedule(model, short(model, seed))
        if certifier.certify(schedule, 0.03):
            kept += 1
            for time in np.linspace(0.0, 1.0, 41):
                q = schedule.configuration(time)
                assert model.distance(q, exact=True).distance >= 0.03
    assert kept > 2


