# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The page: the verdict first, everything in one file, nothing of the input taken for HTML."""

import re
from dataclasses import replace

import lxml.html
import pytest
from support.files.made_verifications import colliding, model, safe, unchecked

from collision_monitor.verification.report.report import report, write_reports
from collision_monitor.verification.report.report_page import headline

pytest.importorskip("matplotlib")
pytest.importorskip("pyvista")
pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def pages():
    """Text by verdict."""
    return {r.verdict.value: report(model(), r) for r in (safe(), colliding(), unchecked())}


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
    assert len(tree.xpath("//figure/*[local-name()='svg']")) == 5
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


def test_a_start_that_is_not_known_is_told_at_the_nearest_moment():
    moment = replace(colliding().worst, starts=(("door.csv", 2.5),))
    text = report(model(), replace(colliding(), worst=moment))
    assert "where door.csv begins at 2.500 s" in text
