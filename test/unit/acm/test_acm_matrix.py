# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Every pair of a robot: what is said of it is so, and always said the same."""

import itertools
import time

import numpy as np
import pytest
from support.geometry.acm_cases import ROBOT
from support.robots.robots import load_model
from support.robots.toy_models import toy_model
from support.robots.toys import joint, link

from collision_monitor import CollisionModel
from collision_monitor.acm.matrix import SearchSettings, classify, where_links_meet
from collision_monitor.acm.pair_search import Ground, Meeting, share_bounds
from collision_monitor.errors import ConfigurationError


def by_pair(verdicts):
    return {frozenset(verdict.links): verdict for verdict in verdicts}


def test_each_pair_of_a_robot_is_what_it_is():
    model = CollisionModel.from_urdf(ROBOT)
    told = []
    verdicts = classify(model, progress=lambda *what: told.append(what))
    found = by_pair(verdicts)
    links = ("base", "post", "flag", "arm", "palm", "finger")
    assert set(found) == {frozenset(pair) for pair in itertools.combinations(links, 2)}
    rigid = found[frozenset(("base", "post"))]
    assert (rigid.meeting, rigid.ground) == (Meeting.NEVER, Ground.RIGID)
    for other in ("arm", "palm", "finger"):
        far = found[frozenset(("flag", other))]
        assert (far.meeting, far.ground, far.share) == (Meeting.NEVER, Ground.PROOF, (0.0, 0.0))
        assert far.boxes > 0 and far.unproved == 0.0 and far.q is None
    always = found[frozenset(("palm", "finger"))]
    assert (always.meeting, always.ground) == (Meeting.ALWAYS, Ground.SAMPLES)
    assert always.meets == always.samples and always.share[0] > 0.998
    hit = found[frozenset(("arm", "post"))]
    assert hit.meeting is Meeting.SOMETIMES and hit.ground is Ground.WITNESS
    assert where_links_meet(model, hit.links, hit.q[None])[0]
    assert hit.share[0] < 0.05 < hit.share[1] or hit.meets > 0
    assert told and all(done <= total for _, done, total in told)


def test_the_same_seed_tells_the_same():
    model = CollisionModel.from_urdf(ROBOT)
    settings = SearchSettings(samples=300, seed=4)
    first, second = (classify(model, settings=settings) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert (a.links, a.meeting, a.ground, a.meets, a.boxes) == (
            b.links, b.meeting, b.ground, b.meets, b.boxes
        )  # fmt: skip
        assert (a.q is None) == (b.q is None)
        assert a.q is None or (a.q == b.q).all()


def test_without_time_there_are_samples_and_their_bound():
    model = CollisionModel.from_urdf(ROBOT)
    settings = SearchSettings(seconds=0.0, samples=1000)
    verdict = by_pair(classify(model, settings=settings))[frozenset(("flag", "palm"))]
    assert (verdict.meeting, verdict.ground) == (Meeting.NEVER, Ground.SAMPLES)
    assert verdict.unproved == 1.0
    # Only the first samples are looked at before the time is over.
    assert verdict.share == (0.0, pytest.approx(3.0 / verdict.samples, rel=0.02))


def test_a_pair_that_was_not_searched_has_not_all_its_samples():
    """Fingers that touch where they are closed meet in no sample: only a descent finds that."""
    fingers = [link(f"{side}{k}", '<box size="0.04 0.02 0.1"/>') for k in (1, 2) for side in "lr"]
    hands = [
        joint(f"{side}{k}", "palm", f"{side}{k}", "prismatic", f"{k} {sign}0.01 0.2",
              f"0 {sign}1 0", limits=(0.0, 0.04), extra=extra.format(k))
        for k in (1, 2) for side, sign, extra in (("l", "", ""), ("r", "-", '<mimic joint="l{}"/>'))
    ]  # fmt: skip
    model = toy_model(link("palm"), *fingers, *hands)
    pairs = [("l1", "r1"), ("l2", "r2")]
    begun = []

    def waits(what, done, total):
        """Nearly all of the time is over before the first pair is searched."""
        begun.append(time.perf_counter())
        if what == "decided":
            time.sleep(max(0.0, begun[0] + 3.5 - time.perf_counter()))

    settings = SearchSettings(seconds=4.0, samples=300)
    for verdict in classify(model, pairs, settings, waits):
        assert verdict.samples < settings.samples or verdict.meeting is not Meeting.NEVER
    for verdict in classify(model, pairs, settings):
        assert verdict.meeting is Meeting.SOMETIMES and verdict.meets == 0


def test_a_link_that_is_inside_another_always_meets_it():
    model = toy_model(
        link("shell", '<box size="2 2 2"/>'),
        link("kernel", '<box size="0.2 0.2 0.2"/>'),
        joint("spin", "shell", "kernel", xyz="0 0 0"),
    )
    (verdict,) = classify(model)
    assert verdict.meeting is not Meeting.NEVER


def test_every_pair_of_an_arm_is_decided():
    model = load_model("panda")
    verdicts = classify(model, settings=SearchSettings(seconds=60.0))
    for verdict in verdicts:
        assert verdict.meeting is not Meeting.NEVER or verdict.ground is not Ground.SAMPLES
        if verdict.ground is Ground.WITNESS:
            assert where_links_meet(model, verdict.links, verdict.q[None])[0]
        if verdict.meeting is Meeting.NEVER:
            rows = model.random_configurations(200, 77)
            assert not where_links_meet(model, verdict.links, rows).any()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"seconds": -1.0}, "seconds: -1.0"),
        ({"seconds": np.nan}, "seconds: nan"),
        ({"samples": 0}, "samples: 0"),
        ({"confidence": 1.0}, "confidence: 1.0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(values, says):
    with pytest.raises(ConfigurationError, match=says):
        SearchSettings(**values)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
@pytest.mark.parametrize(("meets", "samples"), [(0, 10), (3, 10), (10, 10), (1, 2000), (500, 501)])
def test_bounds_are_those_of_the_exact_test(meets, samples, confidence):
    from scipy.stats import binomtest  # takes half a second to import

    low, high = share_bounds(meets, samples, confidence)
    one_sided = binomtest(meets, samples)
    expected = one_sided.proportion_ci(2.0 * confidence - 1.0, method="exact")
    assert (low, high) == pytest.approx((expected.low, expected.high))
