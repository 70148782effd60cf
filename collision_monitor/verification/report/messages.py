# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verifications as text, as data for JSON, and as JUnit XML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from collision_monitor.common.text import counted, json_number, told_apart
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.verification.clearance.clearance_check import ClearanceCheck
from collision_monitor.verification.report.comparison import differences
from collision_monitor.verification.verification import Check, Verdict, Verification

WHAT = {
    Code.JOINT_POSITION: "is beyond its position limit",
    Code.JOINT_VELOCITY: "is faster than its limit",
    Code.JOINT_ACCELERATION: "accelerates more than its limit",
    Code.JOINT_JERK: "jerks more than its limit",
    Code.LINK_TORQUE: "needs more torque at the link than its limit",
    Code.MOTOR_TORQUE: "needs more torque of its motor than its limit",
    Code.COLLISION: "collide",
    Code.CLEARANCE_STOP: "are nearer than the stop threshold",
    Code.CLEARANCE_WARN: "are nearer than the warn threshold",
    Code.UNDECIDED: "have undecided clearance",
    Code.SINGULARITY: "is near a singular pose",
    Code.OFF_THE_LINE: "leaves its line",
}


def value(number: float, unit: str) -> str:
    """A number and its unit for a table; ``none`` if it is not finite."""
    unit = "" if unit == "1" else unit
    return f"{number:.4g} {unit}".rstrip() if math.isfinite(number) else "none"


def brief(violation: Violation) -> str:
    """Short text of a violation, with its first time."""
    return f"{violation.subject} {WHAT[violation.code]} from {violation.first:.3f} s"


def sentence(violation: Violation) -> str:
    """Text of a violation with times, value and limit."""
    v = violation
    when = f"from {v.first:.3f} s" + (f", worst at {v.worst:.3f} s" if v.worst != v.first else "")
    text = f": {v.text}" if v.text else ""
    numbers = value(v.value, v.unit)
    if math.isfinite(v.value) and math.isfinite(v.limit):
        unit = "" if v.unit == "1" else f" {v.unit}"
        numbers = told_apart(v.value, v.limit, f"{{}}{unit}, limit {{}}{unit}", "g")
    return f"{v.subject} {WHAT[v.code]} {when} ({numbers}){text}"


def summary(results: Sequence[Verification]) -> str:
    """Number of motions by verdict, worst first."""
    counts = [(verdict, sum(r.verdict is verdict for r in results)) for verdict in Verdict]
    return f"{len(results)} motions: " + ", ".join(
        f"{count} {verdict.value}" for verdict, count in reversed(counts) if count
    )


def nearest(check: ClearanceCheck) -> str:
    """The minimum distance, its pair and time, and the certified lower bound, in one line."""
    worst = check.series.minima[0]
    a, b = worst.pair
    level = "" if worst.exact else "the leaves of "
    measured, certain = f"{worst.distance:.4f} m", f"{check.at_least:.4f} m"
    more = ""
    if worst.distance > 0.0 and certain != measured:
        more = f"; certified: never below {certain}"
    return f"{measured} between {level}{a} and {b} at {worst.time:.3f} s{more}"


def compared(result: Verification) -> list[str]:
    """Sentences with the largest difference from a recording, for each quantity."""
    found = differences(result, result.measured) if result.measured else []
    largest = {d.quantity: d for d in sorted(found, key=lambda d: abs(d.value))}
    return [
        f"{d.quantity} differ most by {value(d.value, d.unit)}, {d.joint} at {d.time:.3f} s"
        for d in sorted(largest.values(), key=lambda d: d.quantity)
    ]


def headline(result: Verification) -> str:
    """The verdict and its first reason, in one line."""
    word = result.verdict.value.capitalize()
    if result.verdict is Verdict.NOT_CHECKED:
        return f"{word}: {result.reason}"
    unsafe = [v for v in result.violations if not v.warning]
    if unsafe:
        more = f", and {len(unsafe) - 1} more" if len(unsafe) > 1 else ""
        return f"{word}: {brief(unsafe[0])}{more}"
    warnings = len(result.violations)
    return word + (f", with {counted(warnings, 'warning')}" if warnings else "")


def as_data(result: Verification) -> dict[str, Any]:
    """Data for JSON with constant keys (docs/verify.md); numbers that are not finite are None."""
    worst = result.worst
    return {
        "verdict": result.verdict.value,
        "exit_code": result.verdict.exit_code,
        "reason": result.reason,
        "motion": result.source,
        "robot": result.robot,
        "duration": json_number(result.duration),
        "seconds": json_number(result.seconds),
        "checks": [
            {"name": check.name, "done": not check.skipped, "skipped": check.skipped}
            for check in result.checks
        ],
        "violations": [_plain_violation(v) for v in result.violations],
        "nearest": worst
        and {
            "time": json_number(worst.time),
            "distance": json_number(worst.distance),
            "at_least": json_number(result.clearance.at_least),
            "between": "meshes" if worst.exact else "leaves",
            "links": list(worst.pair),
            "joint_names": list(result.clearance.series.joint_names),
            "configuration": [float(x) for x in worst.q],
            "points": [[float(x) for x in point] for point in worst.points],
        },
        "measured": [
            {**vars(one), "value": json_number(one.value), "time": json_number(one.time)}
            for one in (differences(result, result.measured) if result.measured else ())
        ],
        "notes": list(result.notes),
    }


def _plain_violation(violation: Violation) -> dict[str, Any]:
    plain = {k: json_number(v) if isinstance(v, float) else v for k, v in vars(violation).items()}
    return {**plain, "code": violation.code.value}


def junit(results: Sequence[Verification]) -> str:
    """JUnit XML with a suite for each motion, and a test case for each check.

    Warnings go to ``system-out``. Omitted checks are ``skipped``; a motion that could not be
    checked is an ``error``.
    """
    root = ElementTree.Element("testsuites")
    for result in results:
        root.append(_suite(result))
    for element in root.iter():
        element.text = element.text and _clean(element.text)
        element.attrib.update({key: _clean(text) for key, text in element.attrib.items()})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(result: Verification) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=result.source, time=f"{result.seconds:.3f}")
    if result.verdict is Verdict.NOT_CHECKED:
        case = ElementTree.SubElement(suite, "testcase", classname=result.source, name="motion")
        ElementTree.SubElement(case, "error", message=result.reason)
    for check in () if result.verdict is Verdict.NOT_CHECKED else result.checks:
        case = ElementTree.SubElement(suite, "testcase", classname=result.source, name=check.name)
        if check.skipped:
            ElementTree.SubElement(case, "skipped", message=check.skipped)
        _add_violations(case, check, result)
    for name, tag in (
        ("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")
    ):  # fmt: skip
        suite.set(name, str(len(list(suite.iter(tag)))))
    if result.notes:
        ElementTree.SubElement(suite, "system-out").text = "\n".join(result.notes)
    return suite


def _add_violations(case: ElementTree.Element, check: Check, result: Verification) -> None:
    """The failure with all violations that make the motion unsafe, and the warnings."""
    mine = [v for v in result.violations if v.code in check.codes]
    unsafe = [v for v in mine if not v.warning]
    warnings = [sentence(v) for v in mine if v.warning]
    if unsafe:
        kind, message = unsafe[0].code.value, sentence(unsafe[0])
        failure = ElementTree.SubElement(case, "failure", type=kind, message=message)
        failure.text = "\n".join(f"[{v.code.value}] {sentence(v)}" for v in unsafe)
    if warnings:
        ElementTree.SubElement(case, "system-out").text = "\n".join(warnings)


def _clean(text: str) -> str:
    """The text without control characters, which XML does not allow."""
    return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)
