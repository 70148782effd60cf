# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A verification for build servers: JUnit's XML, a test case for each check."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from collision_monitor.motion.violation import Code
from collision_monitor.verification.report.messages import sentence
from collision_monitor.verification.verdict import Verdict
from collision_monitor.verification.verification import Verification


def junit(results: Sequence[Verification]) -> str:
    """The XML of one suite for each motion; warnings go to ``system-out``.

    A check that was not done is ``skipped``; a motion that could not be checked is an ``error``.
    """
    root = ElementTree.Element("testsuites")
    for result in results:
        root.append(_suite(result))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(result: Verification) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=result.source, time=f"{result.seconds:.3f}")
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    if result.verdict is Verdict.NOT_CHECKED:
        counts["tests"] = counts["errors"] = 1
        case = _case(suite, result, "motion")
        ElementTree.SubElement(case, "error", message=_clean(result.reason))
    else:
        for check in result.checks:
            counts["tests"] += 1
            case = _case(suite, result, check.name)
            if check.skipped:
                counts["skipped"] += 1
                ElementTree.SubElement(case, "skipped", message=_clean(check.skipped))
            counts["failures"] += _failures(case, check.codes, result)
    for name, count in counts.items():
        suite.set(name, str(count))
    if result.notes:
        ElementTree.SubElement(suite, "system-out").text = _clean("\n".join(result.notes))
    return suite


def _case(suite: ElementTree.Element, result: Verification, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=result.source, name=name)


def _failures(case: ElementTree.Element, codes: Sequence[Code], result: Verification) -> int:
    """Add what the check found; 1 if that makes the motion unsafe."""
    mine = [v for v in result.violations if v.code in codes]
    warnings = [_clean(sentence(v)) for v in mine if v.warning]
    unsafe = [v for v in mine if not v.warning]
    if unsafe:
        failure = ElementTree.SubElement(
            case, "failure", type=unsafe[0].code.value, message=_clean(sentence(unsafe[0]))
        )
        failure.text = "\n".join(_clean(f"[{v.code.value}] {sentence(v)}") for v in unsafe)
    if warnings:
        ElementTree.SubElement(case, "system-out").text = "\n".join(warnings)
    return int(bool(unsafe))


def _clean(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)
