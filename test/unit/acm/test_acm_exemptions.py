# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is exempted, with which reason; and the SRDF that says so to others."""

import pinocchio as pin
import pytest
from lxml import etree
from support.geometry.acm_cases import ROBOT, srdf
from support.robots import robots
from support.robots.toy_models import toy_model
from support.robots.toys import joint, link

from collision_monitor import CollisionModel
from collision_monitor.acm.matrix import SearchSettings, classify
from collision_monitor.acm.pair_search import Ground, Meeting, SearchResult
from collision_monitor.acm.srdf_exemptions import Exemption, exemptions, grounds, srdf_text
from collision_monitor.errors import SemanticDescriptionError
from collision_monitor.robot.srdf import load_srdf
from unit.model.test_left_out_pairs import hand


@pytest.fixture(scope="module")
def model():
    return CollisionModel.from_urdf(ROBOT)


@pytest.fixture(scope="module")
def verdicts(model):
    return classify(model, settings=SearchSettings(samples=300))


def reasons(exempted):
    return {frozenset(e.links): e.reason for e in exempted}


def test_each_exemption_has_its_reason(model, verdicts):
    found = reasons(exemptions(model, verdicts))
    assert found[frozenset(("base", "arm"))] == "Adjacent"
    assert found[frozenset(("base", "post"))] == "Adjacent"  # a fixed joint
    assert found[frozenset(("post", "flag"))] == "Never"  # rigid, by way of the base
    assert found[frozenset(("flag", "palm"))] == "Never"
    assert found[frozenset(("palm", "finger"))] == "Adjacent"
    assert len(found) == len(verdicts) - 1
    assert frozenset(("post", "arm")) not in found
    details = {frozenset(e.links): e.detail for e in exemptions(model, verdicts)}
    assert "proved by" in details[frozenset(("flag", "palm"))]
    assert "rigidly joined" in details[frozenset(("post", "flag"))]
    assert "always: in 300 of 300 samples" in details[frozenset(("palm", "finger"))]


def made(meeting, ground, links=("flag", "palm"), **values):
    return SearchResult(links, meeting, ground, **values)


def test_what_was_only_sampled_is_exempted_if_one_will(model):
    verdict = made(Meeting.NEVER, Ground.SAMPLES, samples=100, share=(0.0, 0.03), unproved=0.25)
    (exemption,) = exemptions(model, [verdict])
    assert exemption.reason == "Never"
    assert "never in 100 samples, all in the 25.0% of the ranges" in exemption.detail
    assert "0.03 of all configurations" in exemption.detail
    assert exemptions(model, [verdict], proved_only=True) == []
    assert exemptions(model, [verdict], least_samples=100) == [exemption]
    assert exemptions(model, [verdict], least_samples=101) == []


def test_what_meets_nearly_always_is_exempted_as_such(model):
    verdict = made(Meeting.SOMETIMES, Ground.WITNESS, samples=100, meets=96, links=("post", "palm"))
    (exemption,) = exemptions(model, [verdict])
    assert exemption.reason == "Always" and "96 of 100" in exemption.detail
    assert exemptions(model, [verdict], always=0.97) == []


def test_equal_limits_prove_nothing():
    """CAD exports write 0 to 0 for limits that were left empty: other positions are unknown."""
    equal = ROBOT.replace('lower="-2" upper="2"', 'lower="0" upper="0"')
    assert equal != ROBOT
    model = CollisionModel.from_urdf(equal)
    verdicts = classify(model, settings=SearchSettings(samples=50))
    found = reasons(exemptions(model, verdicts))
    assert found[frozenset(("base", "arm"))] == "Adjacent"
    assert found[frozenset(("post", "flag"))] == "Never"  # rigid
    assert not any(found.keys() & {frozenset((a, "palm")) for a in ("base", "post", "flag")})
    texts = {frozenset(v.links): grounds(v) for v in verdicts}
    assert texts[frozenset(("flag", "palm"))].startswith("never, but the range of a joint between")
    assert texts[frozenset(("palm", "finger"))].startswith("always, but the range of a joint")


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_nothing_is_proved_over_a_joint_that_is_held(kind):
    """A wall stands beside a robot whose base may be anywhere."""
    model = toy_model(
        link("wall", '<box size="0.1 5 5"/>', "3 0 0"),
        link("shelf", '<box size="1 5 0.1"/>', "2.5 0 2"),
        link("base"), link("plate", '<box size="0.3 0.3 0.01"/>'), link("arm"),
        joint("rack", "wall", "shelf", "fixed", xyz="0 0 0"),
        joint("drive", "wall", "base", kind),
        joint("screw", "base", "plate", "fixed", xyz="0 0 0.2"),
        joint("shoulder", "base", "arm", xyz="0 0 0.5"),
    )  # fmt: skip
    verdicts = classify(model, settings=SearchSettings(samples=50))
    found = reasons(exemptions(model, verdicts))
    free = {frozenset((a, b)) for a in ("wall", "shelf") for b in ("base", "plate", "arm")}
    assert {pair: found[pair] for pair in free & found.keys()} == {
        frozenset(("wall", "base")): "Adjacent"
    }
    assert found[frozenset(("plate", "arm"))] == "Never"  # no joint that is held is between them
    of_walls = next(v for v in verdicts if v.links == ("wall", "plate"))
    assert (of_walls.ground, of_walls.share) == (Ground.NO_RANGE, (0.0, 1.0))
    assert "floating or planar" in grounds(of_walls)


@pytest.mark.parametrize(
    ("kind", "gain", "is_proved"),
    [("revolute", 1.0, True), ("revolute", 0.25, False), ("prismatic", 0.05, False)],
)
def test_a_continuous_joint_moves_its_followers_without_limits(kind, gain, is_proved):
    """Behind a gear, the arm reaches the post in the second turn of the motor."""
    at, axis = ("-0.6 0 0", "0 0 1") if kind == "revolute" else ("1.5 0 0", "1 0 0")
    model = toy_model(
        link("base", '<box size="0.1 0.1 0.1"/>'), link("motor", xyz="0 0 1"),
        link("arm", '<box size="1 0.05 0.05"/>', "0.5 0 0"),
        link("post", '<box size="0.1 0.1 1"/>'),
        joint("weld", "base", "post", "fixed", xyz=at),
        joint("drive", "base", "motor", "continuous", xyz="0 0 1"),
        joint("gear", "base", "arm", kind, xyz="0 0 0.2", axis=axis, limits=(-10, 10),
              extra=f'<mimic joint="drive" multiplier="{gain}"/>'),
    )  # fmt: skip
    verdicts = classify(model, settings=SearchSettings(samples=50))
    (verdict,) = [v for v in verdicts if set(v.links) == {"post", "arm"}]
    found = reasons(exemptions(model, verdicts))
    if is_proved:
        assert verdict.meeting is Meeting.SOMETIMES
    else:
        assert verdict.meeting is Meeting.NEVER and verdict.ground is Ground.NO_RANGE
    assert frozenset(("post", "arm")) not in found
    # The motor alone makes whole turns.
    assert found[frozenset(("post", "motor"))] == "Never"


def test_the_default_pose_is_no_reason_unless_one_says_so():
    # The arm lies in the post with all joints at zero.
    model = CollisionModel.from_urdf(ROBOT.replace("0.6 0.4 0", "0.6 0 0"))
    verdicts = classify(model, [("post", "arm")])
    assert exemptions(model, verdicts) == []
    (exemption,) = exemptions(model, verdicts, in_default_pose=True)
    assert (exemption.links, exemption.reason) == (("post", "arm"), "Default")


def test_what_the_srdf_exempts_stays_until_renewed(verdicts):
    model = CollisionModel.from_urdf(ROBOT, srdf(("arm", "post", "Never"), ("post", "palm", "")))
    found = exemptions(model, verdicts)
    given = {frozenset(e.links): e for e in found if e.given}
    assert given[frozenset(("arm", "post"))].reason == "Never"
    assert given[frozenset(("post", "palm"))].reason == "User"
    assert "in the SRDF; sometimes" in given[frozenset(("arm", "post"))].detail
    renewed = exemptions(model, verdicts, renew=True)
    assert not any(e.given for e in renewed)
    assert frozenset(("arm", "post")) not in reasons(renewed)


def test_the_srdf_that_is_written_is_read_back(model, verdicts):
    exempted = exemptions(model, verdicts)
    text = srdf_text(model.name, exempted)
    semantics = load_srdf(text, model.robot)
    assert semantics.warnings == ()
    assert dict(semantics.disabled) == reasons(exempted)
    root = etree.fromstring(text.encode())
    comments = [node for node in root if not isinstance(node.tag, str)]
    assert len(comments) == len(exempted)
    assert text.count("\n") == len(exempted) + 3  # one line each


@pytest.mark.parametrize("detail", ["of 'l---j'", "joint 'a----'", "-", "--"])
def test_hyphens_in_names_do_not_end_a_comment(model, detail):
    text = srdf_text(model.name, [Exemption(("arm", "post"), "Always", detail)])
    assert dict(load_srdf(text, model.robot).disabled) == {frozenset(("arm", "post")): "Always"}
    (note,) = [node for node in etree.fromstring(text.encode()) if not isinstance(node.tag, str)]
    assert note.text.replace(" ", "") == detail.replace(" ", "")


@pytest.mark.parametrize("renew", [False, True])
def test_all_else_of_a_given_srdf_is_kept(verdicts, renew, tmp_path):
    path = tmp_path / "given.srdf"
    path.write_text(srdf(("arm", "post", "Never")))
    model = CollisionModel.from_urdf(ROBOT, path)
    exempted = exemptions(model, verdicts, renew=renew)
    text = srdf_text(model.name, exempted, path, renew)
    semantics = load_srdf(text, model.robot)
    assert semantics.groups == model.semantics.groups
    assert (frozenset(("arm", "post")) in semantics.disabled) is not renew
    assert dict(semantics.disabled) == reasons(exempted)
    root = etree.fromstring(text.encode())
    assert root.find("group_state/joint").get("value") == "0"
    assert root.find("end_effector").get("parent_link") == "palm"
    assert len(root.findall("disable_collisions")) == len(exempted)


def test_a_faulty_srdf_is_refused(verdicts):
    with pytest.raises(SemanticDescriptionError, match="not XML"):
        srdf_text("poster", [], "<robot>")


@pytest.mark.parametrize("with_given", [False, True])
def test_pinocchio_reads_what_is_written(with_given, tmp_path):
    files = robots.require("panda")
    given = files.srdf if with_given else None
    model = robots.load_model("panda")
    verdicts = classify(model, settings=SearchSettings(samples=200))
    exempted = exemptions(model, verdicts, renew=not with_given)
    path = tmp_path / "written.srdf"
    path.write_text(srdf_text(model.name, exempted, given, renew=False))
    pin_model = pin.buildModelFromUrdf(str(files.urdf))
    geometry = pin.buildGeomFromUrdf(
        pin_model, str(files.urdf), pin.GeometryType.COLLISION,
        package_dirs=list(map(str, files.package_dirs)),
    )  # fmt: skip
    geometry.addAllCollisionPairs()
    pin.removeCollisionPairs(pin_model, geometry, str(path))
    names = [pin_model.frames[item.parentFrame].name for item in geometry.geometryObjects]
    left = {frozenset((names[p.first], names[p.second])) for p in geometry.collisionPairs}
    left = {pair for pair in left if len(pair) == 2}
    everything = {frozenset(verdict.links) for verdict in verdicts}
    gone = {frozenset(e.links) for e in exempted}
    # What pinocchio itself leaves out: links on one joint of its own.
    assert left <= everything - gone
    joint_of = {name: item.parentJoint for name, item in zip(names, geometry.geometryObjects,
                                                             strict=True)}  # fmt: skip
    for pair in everything - gone - left:
        assert len({joint_of[name] for name in pair}) == 1
    if with_given:
        pin.loadReferenceConfigurations(pin_model, str(path))
        assert "default" in pin_model.referenceConfigurations


# -- pairs that overlap by design --


def by_design(model):
    """Reasons by pair of what a model leaves out for its contacts."""
    return {
        frozenset((a, b)): reason for a, b, reason in model.unmonitored_pairs if "meet" in reason
    }


@pytest.mark.parametrize("renew", [False, True])
@pytest.mark.parametrize(
    "limits",
    [
        ((-0.02, 0.004), (-0.02, 0.004)),  # boxes that overlap in most configurations
        ((-0.0005, 0.04), (-0.0005, 0.04)),  # fingers that graze each other when closed
    ],
)
def test_what_a_monitor_leaves_out_is_exempted_for_its_reason(limits, renew):
    alone = hand(*limits)
    ((pair, why),) = by_design(alone).items()
    assert pair == {"left", "right"}
    disabled = '<robot name="hand"><disable_collisions link1="left" link2="right"/></robot>'
    model = hand(*limits, srdf=disabled) if renew else alone
    verdicts = classify(model, settings=SearchSettings(samples=300))
    (verdict,) = [v for v in verdicts if set(v.links) == {"left", "right"}]
    assert verdict.meeting is Meeting.SOMETIMES
    (exemption,) = [e for e in exemptions(model, verdicts, renew=renew) if set(e.links) == pair]
    assert exemption.reason == "Always" and not exemption.given
    assert exemption.detail == f"{why}; {grounds(verdict)}"
    assert f"<!-- {why}; " in srdf_text("hand", [exemption])


def test_what_a_monitor_leaves_out_is_exempted_without_time_to_find_its_contacts():
    model = hand((-0.0005, 0.04), (-0.0005, 0.04))
    ((pair, why),) = by_design(model).items()
    verdict = made(Meeting.NEVER, Ground.SAMPLES, tuple(pair), samples=64, share=(0.0, 0.05))
    (exemption,) = exemptions(model, [verdict], least_samples=2000)
    assert (exemption.reason, exemption.detail) == ("Always", f"{why}; {grounds(verdict)}")


@pytest.mark.parametrize("renew", [False, True])
def test_what_an_srdf_enables_is_not_exempted(renew):
    enabled = '<enable_collisions link1="arm" link2="palm"/>'
    model = CollisionModel.from_urdf(ROBOT, srdf().replace("</robot>", f"{enabled}</robot>"))
    verdicts = classify(model, settings=SearchSettings(seconds=1.0, samples=200))
    exempted = {frozenset(e.links) for e in exemptions(model, verdicts, renew=renew)}
    assert frozenset(("palm", "finger")) in exempted
    assert (frozenset(("arm", "palm")) in exempted) == renew


@pytest.mark.parametrize(
    "name", ["panda", *(pytest.param(n, marks=pytest.mark.slow) for n in ("baxter", "talos"))]
)
def test_on_vendor_robots_all_that_a_monitor_leaves_out_is_exempted(name):
    model = robots.load_model(name, with_srdf=False, max_leaves_per_link=1)
    left_out = by_design(model)
    assert left_out
    verdicts = classify(model, settings=SearchSettings(seconds=5.0, samples=200))
    exempted = exemptions(model, verdicts, least_samples=200)
    details = {frozenset(e.links): e.detail for e in exempted}
    never = {frozenset(v.links) for v in verdicts if v.meeting is Meeting.NEVER}
    for pair, why in left_out.items():
        assert details[pair].startswith("never" if pair in never else f"{why}; "), pair
    # No pair that meets is exempted, unless a monitor leaves it out as well.
    unmonitored = {frozenset((a, b)) for a, b, _ in model.unmonitored_pairs}
    joined = {frozenset((joint.parent, joint.child)) for joint in model.robot.joints}
    meeting = {frozenset(v.links) for v in verdicts if v.meeting is not Meeting.NEVER}
    assert details.keys() & meeting <= unmonitored | joined
