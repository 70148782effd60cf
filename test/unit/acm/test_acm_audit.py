# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Audits of SRDFs: what is found is there, by pinocchio and coal too."""

from dataclasses import replace

import numpy as np
import pytest
from support.geometry.acm_cases import ROBOT, Eye, srdf
from support.robots import robots

from collision_monitor import CollisionModel
from collision_monitor.acm.matrix import SearchSettings
from collision_monitor.acm.pair_search import Ground, Meeting
from collision_monitor.acm.srdf_exemptions import audit
from unit.model.test_left_out_pairs import hand


def test_an_exempted_pair_that_collides_is_found(written):
    path = written("poster.urdf", ROBOT)
    model = CollisionModel.from_urdf(
        ROBOT,
        srdf(("arm", "post", "Never"), ("flag", "arm", "Never"), ("palm", "finger", "Adjacent"),
             ("frame", "post", "Never")),
    )  # fmt: skip
    result = audit(model)
    (finding,) = result.findings
    assert set(finding.links) == {"arm", "post"}
    assert finding.reason == "Never" and finding.confirmed and not finding.neighbours
    positions = dict(zip(model.joint_names, finding.verdict.q, strict=True))
    assert Eye(path, []).meet("arm", "post", positions)
    # The palm can hit the post too, but need not when the arm does.
    assert finding.unseen
    assert model.distance(finding.verdict.q).distance > 0.0
    harmless = {frozenset(verdict.links): verdict for _, verdict in result.harmless}
    assert harmless[frozenset(("flag", "arm"))].ground is Ground.PROOF
    assert harmless[frozenset(("palm", "finger"))].meeting is Meeting.ALWAYS
    assert result.shapeless == (("post", "frame"),)
    assert result.missing == ()


def test_what_always_meets_and_is_not_exempted_is_named():
    model = CollisionModel.from_urdf(ROBOT, srdf(("flag", "arm", "Never")))
    result = audit(model)
    assert result.findings == ()
    assert set(result.missing) == {("palm", "finger")}
    enabled = '<enable_collisions link1="palm" link2="finger"/></robot>'
    model = CollisionModel.from_urdf(ROBOT, srdf().replace("</robot>", enabled))
    assert ("palm", "finger") in model.pairs and set(audit(model).missing) == {("palm", "finger")}


def test_witnesses_have_few_digits_and_keep_other_joints():
    model = CollisionModel.from_urdf(ROBOT, srdf(("arm", "post", "Never")))
    q = audit(model).findings[0].verdict.q
    assert (q == np.round(q, 2)).all()
    assert (q == 0.0).sum() == len(q) - 1


def test_a_pair_that_meets_nearly_always_is_no_finding():
    # The arm meets the post in about a twelfth of the samples.
    model = CollisionModel.from_urdf(ROBOT, srdf(("arm", "post", "User")))
    assert len(audit(model).findings) == 1
    assert audit(model, always=0.02).findings == ()


@pytest.mark.parametrize("disabled", [False, True])
def test_what_overlaps_by_design_is_named_with_its_reason(disabled):
    limits = ((-0.02, 0.004), (-0.02, 0.004))
    text = '<robot name="hand">{}</robot>'
    pair = '<disable_collisions link1="left" link2="right" reason="User"/>'
    result = audit(hand(*limits, srdf=text.format(pair if disabled else "")))
    if not disabled:
        assert result.findings == () and set(map(frozenset, result.missing)) == {
            frozenset(("left", "right"))
        }
        return
    assert result.missing == ()
    (finding,) = result.findings
    assert "of 256 sampled configurations" in finding.by_design
    can_collide = audit(hand((-0.01, 0.04), (-0.01, 0.04), srdf=text.format(pair)))
    assert [finding.by_design for finding in can_collide.findings] == [""]


# Pairs that the SRDFs of these robots exempt as "Never" or "Default", and that collide.
KNOWN = {
    "panda": [("panda_link5", "panda_link7"), ("panda_link5", "panda_hand")],
    "pr2": [
        ("r_shoulder_pan_link", "r_upper_arm_roll_link"),
        ("r_shoulder_lift_link", "r_gripper_l_finger_tip_link"),
    ],
}


@pytest.mark.parametrize(
    ("name", "part"), [("panda", ""), pytest.param("pr2", "r_", marks=pytest.mark.slow)]
)
def test_findings_on_real_robots_are_confirmed_by_pinocchio_and_coal(name, part):
    files = robots.require(name)
    model = robots.load_model(name)
    # Of PR2 one arm: all of it takes longer than a test should.
    kept = {
        pair: reason
        for pair, reason in model.semantics.disabled.items()
        if all(link.startswith(part) for link in pair)
    }
    model.semantics = replace(model.semantics, disabled=kept)
    result = audit(model, SearchSettings(seconds=30.0))  # a few on a quiet machine
    eye = Eye(files.urdf, files.package_dirs)
    found = {frozenset(finding.links) for finding in result.findings}
    assert {frozenset(pair) for pair in KNOWN[name]} <= found
    for finding in result.findings:
        q = finding.verdict.q
        assert (model.lower <= q).all() and (q <= model.upper).all()
        positions = dict(zip(model.joint_names, q.tolist(), strict=True))
        if finding.confirmed:
            assert eye.meet(*finding.links, positions), finding.links
        if finding.unseen:
            assert model.distance(q).distance > 0.0
    assert sum(finding.confirmed for finding in result.findings) >= len(KNOWN[name])
    # What is proved does not meet, wherever one looks.
    rng = np.random.default_rng(3)
    proved = [v for _, v in result.harmless if v.ground is Ground.PROOF]
    assert len(proved) > 5
    for verdict in proved[:: max(1, len(proved) // 12)]:
        for q in rng.uniform(model.lower, model.upper, (50, len(model.joint_names))):
            positions = dict(zip(model.joint_names, q.tolist(), strict=True))
            assert not eye.meet(*verdict.links, positions), verdict.links
