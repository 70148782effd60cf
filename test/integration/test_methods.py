# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Every command of the page of methods runs with its options, small, and prints what it says."""

import os
import re
import runpy
import sys

import pytest
from support.documented import commands, with_options
from support.paths import ROOT

from collision_monitor.__main__ import main

PAGE = (ROOT / "docs/reports/methods.md").read_text(encoding="utf-8")
SECTIONS = [text for text in PAGE.split("\n## ")[1:] if not text.startswith("Others")]
COMMANDS = {key: words for text in SECTIONS for key, words in commands(text).items()}
OUTPUTS = ("--picture", "--plot", "--report", "--output")
MOST = 200_000  # bytes of a picture
# What makes a command short: values in place of those of the page, or besides.
SHORT = {"docs/make_adjustment_plots.py": {"--methods": "field"}}
# Run there, with the options of the page, beside other tests of the same results.
ELSEWHERE = {
    "benchmarks/hybrid_tree.py --cycle": "test_space_arm.py",
    "benchmarks/hybrid_tree.py --robots": "test_space_arm.py",
    "verify urdf/space_arm.urdf": "test_verification_story.py",
}
LONG = {
    "benchmarks/space_arm_motions.py --motions", "docs/make_verification_plots.py --motions",
    "benchmarks/two_level_check.py --plot",
}  # fmt: skip
SAYS = {
    "fit urdf/space_arm.urdf": ["capsule"],
    "fit urdf/dual_arm.urdf": ["dual_arm"],
    "distance urdf/space_arm.urdf": ["m between"],
    "adjust urdf/dual_arm.urdf": ["adjusted, method field", "before -0.0", "after  0.10"],
    "docs/make_adjustment_plots.py": ["0.2010", "0.0141"],
    "verify urdf/probe_arm.urdf": ["tests for 97 points left 2 pairs"],
    "verify urdf/probe_arm.urdf again": ["tests for 97 points left 1 pair"],
    "docs/make_verification_plots.py --motions": ["arm_link_7 - port_panel_1 collide from"],
    "benchmarks/space_arm_motions.py --motions": ["open loop: 31.8 mm", "of 0.5/s: 0.67 mm"],
    "benchmarks/two_level_check.py --plot": [
        "504.64 mm", "611.36 mm", "1895.7 mm", "577.34 mm", "667.56 mm",
        "two levels: suspects [], in the box []; 23 tests, 13 points placed",
        "ours: suspects [], in the box []; 5 tests, 5 points placed",
        "two levels: suspects [43, 44, 45, 46, 47, 48, 49, 50], in the box []",
        "as printed: suspects [45, 46, 47], in the box []",
    ],
}  # fmt: skip
NUMBER = re.compile(r"-?\d+\.\d\d+ m?m?")


def test_every_method_has_a_command_and_a_picture_that_is_there():
    assert len(SECTIONS) == 5
    for text in SECTIONS:
        assert commands(text), text[:60]
        (picture,) = re.findall(r"^!\[[^\]]+\]\((\S+\.png)\)$", text, re.MULTILINE)
        assert (ROOT / "docs/reports" / picture).stat().st_size < MOST
        for part in ("*The paper.*", "*Here.*", "*Where it errs.*"):
            assert part in text


def test_commands_that_are_not_run_here_run_elsewhere():
    for key, name in ELSEWHERE.items():
        text = (ROOT / "test/system" / name).read_text(encoding="utf-8")
        assert f'METHODS["{key}"]' in text
    assert {*SAYS, *ELSEWHERE} == set(COMMANDS)


def in_folder(words, folder):
    """The command with its outputs in ``folder``; and the outputs."""
    words, outputs = list(words), []
    for option in OUTPUTS:
        if option in words:
            k = words.index(option) + 1
            outputs.append(folder / os.path.basename(words[k]))
            words[k] = str(outputs[-1])
    return words, outputs


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(key, marks=pytest.mark.slow if key in LONG else ())
        for key in COMMANDS if key not in ELSEWHERE
    ],
)  # fmt: skip
def test_commands_show_what_the_page_says(key, tmp_path, monkeypatch, capsys):
    needs = {"--picture": "pyvista", "--plot": "matplotlib", "plots.py": "matplotlib"}
    line = " ".join(COMMANDS[key])
    for need in (module for word, module in needs.items() if word in line):
        pytest.importorskip(need)
    monkeypatch.chdir(ROOT)
    words, outputs = in_folder(with_options(COMMANDS[key], SHORT.get(key, {})), tmp_path)
    if words[0] == "-m":
        assert main(words[2:]) == 0
    else:
        if words[0].startswith("docs/"):
            words += ["--output", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
        runpy.run_path(words[0], run_name="__main__")
        outputs += tmp_path.glob("*.png")
    printed = capsys.readouterr().out
    for text in SAYS[key]:
        assert text in printed
        for number in NUMBER.findall(text):
            assert number in PAGE
    for path in outputs:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < MOST
