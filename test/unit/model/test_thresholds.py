# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which pair may come how near."""

import numpy as np
import pytest

from collision_monitor.errors import ThresholdsError
from collision_monitor.model.thresholds import Rule, Thresholds, load_thresholds
from collision_monitor.robot.pairs import NEIGHBOURS, RIGID, UnmonitoredPair

PAIRS = [("left_arm", "right_arm"), ("right_hand", "left_hand"), ("left_arm", "table")]


def test_every_pair_has_those_of_all_but_for_its_rules():
    given = Thresholds(0.05, 0.01, (Rule("left_* right_*", 0.1), Rule("*_hand *", stop=0.03)))
    assert given.of(PAIRS).tolist() == [[0.01, 0.1], [0.03, 0.1], [0.01, 0.05]]


def test_a_later_rule_counts_and_a_warning_is_never_below_the_stop():
    given = Thresholds(0.05, 0.01, (Rule("* table", 0.2, 0.1), Rule("table left_arm", stop=0.3)))
    assert given.of(PAIRS)[2].tolist() == [0.3, 0.3]


def test_nothing_given_is_touching():
    assert not Thresholds().of(PAIRS).any()


def test_a_file_says_the_same(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text("warn: 0.05\nstop: 0.01\npairs:\n- pair: left_* right_*\n  warn: 0.1\n")
    read = load_thresholds(path)
    assert read.of(PAIRS).tolist() == [[0.01, 0.1], [0.01, 0.1], [0.01, 0.05]]
    path.write_text("")
    assert not load_thresholds(path).of(PAIRS).any()
    assert load_thresholds({"stop": 0.02}).of(PAIRS).tolist() == [[0.02, 0.02]] * 3


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"warm": 0.1}, "warm: unknown key; did you mean 'warn'"),
        ({"stop": -0.1}, "stop: -0.1 is not a distance"),
        ({"pairs": [{"pair": "a b"}]}, r"pairs\[0\]\.pair: has neither warn nor stop"),
        ({"pairs": [{"pair": "a b", "check": 0}]}, r"pairs\[0\]\.check: expected true or false"),
        (
            {"pairs": [{"pair": "a b", "check": False, "stop": 0.1}]},
            r"pairs\[0\]\.check: a pair that is not checked has neither warn nor stop",
        ),
        ({"pairs": [{"warn": 0.1}]}, r"pairs\[0\]\.pair: is missing"),
        ({"pairs": [{"pair": "a", "warn": 0.1}]}, r"pairs\[0\].pair: 'a' is not two names"),
    ],
)
def test_faulty_files_are_refused(data, message):
    with pytest.raises(ThresholdsError, match=message):
        load_thresholds(data)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ThresholdsError, match="no such file"):
        load_thresholds(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Thresholds(np.nan), "warn: nan is not a distance"),
        (Thresholds(0.1, -1.0), "stop: -1.0 is not a distance"),
        (Thresholds(0.01, 0.05), "thresholds: stop 0.05 is above warn 0.01"),
        (load_thresholds({"warn": 0.01}, stop=0.05), "thresholds: stop 0.05 is above warn 0.01"),
        (Thresholds(rules=(Rule("left_arm"),)), "'left_arm' is not two names"),
        (Thresholds(rules=(Rule("left_* foot", 0.1),)), "matches none of the 3 pairs"),
        (Thresholds(rules=(Rule("* *", stop=np.inf),)), r"pairs\[0\]\.stop: inf"),
    ],
)
def test_what_names_nothing_or_never_warns_is_refused(given, message):
    with pytest.raises(ThresholdsError, match=message):
        given.of(PAIRS)


def test_errors_of_rules_name_the_file_wherever_the_rules_are_used(written):
    path = written("mine.yaml", "pairs: [{pair: 'left_arm foot', warn: 0.1}]")
    with pytest.raises(ThresholdsError, match=r"^mine.yaml: pairs\[0\].pair: 'left_arm foot' mat"):
        Thresholds(0.1, 0.02, load_thresholds(path).rules).of(PAIRS)


def test_a_rule_for_pairs_that_are_left_out_has_no_effect_or_comes_too_late():
    left_out = [
        UnmonitoredPair("palm", "thumb", "disabled in the SRDF"),
        UnmonitoredPair("palm", "index", RIGID),
        UnmonitoredPair("thumb", "index", "shapes meet", by_design=True),
        UnmonitoredPair("thumb", "tip", NEIGHBOURS),
    ]
    given = Thresholds(0.05, 0.01, (Rule("palm *", 0.1), Rule("table left_*", 0.2)))
    assert given.of(PAIRS, left_out=left_out)[:, 1].max() == 0.2
    texts = given.without_effect(PAIRS, left_out)
    says = "thresholds of 'palm *' have no effect on pairs that are not checked: "
    assert texts == [says + "disabled in the SRDF", says + RIGID]
    with pytest.raises(ThresholdsError, match="left out, thumb - index: shapes meet; to have it"):
        Thresholds(rules=(Rule("* index", 0.1),)).of(PAIRS, left_out=left_out)
    with pytest.raises(ThresholdsError, match="tip: neighbours over one joint; to have it checked"):
        Thresholds(rules=(Rule("thumb tip", 0.1),)).of(PAIRS, left_out=left_out)


def test_a_rule_without_a_check_is_for_loading_and_changes_no_distance():
    data = {"pairs": [{"pair": "palm *", "check": False}, {"pair": "left_* *", "check": True}]}
    given = Thresholds(0.05, 0.01, load_thresholds(data).rules)
    assert given.patterns(check=False) == ("palm *",)
    assert given.patterns(check=True) == ("left_* *",)
    left_out = [UnmonitoredPair("palm", "tip", "not checked by the rule 'palm *'", by_rule=True)]
    assert given.of(PAIRS, left_out=left_out).tolist() == [[0.01, 0.05]] * 3
    assert given.without_effect(PAIRS, left_out) == []
    given.check_left_out(left_out)
    with pytest.raises(ThresholdsError, match="no rule with check: false for palm - tip.*restart"):
        Thresholds(0.05, 0.01).check_left_out(left_out)
    # Nothing that is added later is left out by a rule.
    with pytest.raises(ThresholdsError, match="'cell/7 table' matches none"):
        Thresholds(rules=(Rule("cell/7 table", check=False),)).of(PAIRS, objects=["table"])
    late = Thresholds(rules=(Rule("left_arm *", check=False),))
    (text,) = late.without_effect(PAIRS, ())
    assert text.startswith("checked in spite of a rule with check: false: left_arm - ")


LINKS = ["left/arm", "left/hand", "right/arm", "table"]
TWO = [("left/arm", "right/arm"), ("left/hand", "table")]


@pytest.mark.parametrize(
    "pattern",
    [
        "cell/* left/hand", "cell/7 table", "left/* cloud", "planning_scene/box *", "a/1 b/-2",
        "cell/lamp table", "left/1? table", "*/* *",
    ],
)
def test_a_rule_may_be_about_objects_to_come(pattern):
    given = Thresholds(0.05, 0.01, (Rule(pattern, 0.2),))
    assert given.of(TWO, objects=LINKS).shape == (2, 2)
    assert given.naming_none(TWO) == ([] if pattern == "*/* *" else [pattern])
    if pattern != "*/* *":
        with pytest.raises(ThresholdsError, match="matches none of the 2 pairs"):
            given.of(TWO)


@pytest.mark.parametrize(
    "pattern",
    [
        "left/am right/arm", "left/arm right/ar", "cell/* left/hnad", "cell/7 tabel", "a b",
        "left/fore* right/*",
    ],
)
def test_a_slip_of_the_pen_is_not_taken_for_objects_to_come(pattern):
    """Links of one of several robots have a / in their names too."""
    given = Thresholds(0.05, 0.01, (Rule(pattern, 0.2),))
    with pytest.raises(ThresholdsError, match="matches none of the 2 pairs.*such as 'cell/7'"):
        given.of(TWO, objects=LINKS)
