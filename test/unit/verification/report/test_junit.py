# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""JUnit's XML says the same as the verdicts."""

from xml.etree import ElementTree

from support.files.made_verifications import colliding, safe, unchecked

from collision_monitor.verification.report.junit import junit


def suites(*results):
    """Suites by name."""
    root = ElementTree.fromstring(junit(results))
    return {suite.get("name"): suite for suite in root}


def test_counts_agree_with_what_is_in_the_suites():
    found = suites(safe(), colliding(), unchecked())
    assert list(found) == ["motion.csv", "fold <1>.csv", "bad.csv"]
    for suite in found.values():
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(count)) == len(suite.findall(f"testcase/{tag}"))
        assert int(suite.get("tests")) == len(suite.findall("testcase"))


def test_a_collision_is_a_failure_of_the_right_check():
    suite = suites(colliding())["fold <1>.csv"]
    failed = [case for case in suite.iter("testcase") if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["distances between links", "joint limits"]
    failure = failed[0].find("failure")
    assert failure.get("type") == "collision"
    assert colliding().violations[0].subject in failure.get("message")


def test_safe_has_no_failure_and_unchecked_is_an_error():
    assert suites(safe())["motion.csv"].get("failures") == "0"
    bad = suites(unchecked())["bad.csv"]
    assert "no_joint" in bad.find("testcase/error").get("message")


def test_control_characters_do_not_break_the_xml():
    from dataclasses import replace

    result = replace(safe(), source="a\x00b", notes=("\x1b[31mred",))
    assert suites(replace(result, source="ab"))["ab"].find("system-out").text == "?[31mred"
