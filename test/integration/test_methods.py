# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Every command of docs/methods.md runs, in a short version, and shows what the page says."""

import os
import re
import runpy
import shlex
import sys

import pytest
from support.paths import ROOT

from collision_monitor.cli.main import main

PAGE = (ROOT / "docs/methods.md").read_text(encoding="utf-8")
SECTIONS = [text for text in PAGE.split("\n## ")[1:] if not text.startswith("Others")]
FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = [
    line for text in SECTIONS for block in FENCE.findall(text)
    for line in block.replace("\\\n", " ").splitlines()
]  # fmt: skip
OUTPUTS = ("--picture", "--plot", "--report", "--output")
# Torques and the page take ten times as long as the rest of their command.
LEFT_OUT = {"--floating": 0, "--drives": 1, "--report": 1}
# Run there with the same options, short.
ELSEWHERE = {"benchmarks/hybrid_tree.py": "test/system/test_space_arm.py"}
SAYS = {
    "fit urdf/space_arm.urdf": "capsule",
    "fit urdf/dual_arm.urdf": "dual_arm",
    "verify urdf/space_arm.urdf": "arm_link_7 - port_panel_1 collide from 59.993 s",
    "distance urdf/space_arm.urdf": "m between",
    "adjust urdf/dual_arm.urdf": "adjusted, method field",
    "verify urdf/probe_arm.urdf": "two-level check",
}
EXIT_CODES = {"verify urdf/space_arm.urdf": 1}


def test_every_method_has_a_command_and_a_picture_that_is_there():
    assert len(SECTIONS) == 5
    for text in SECTIONS:
        assert FENCE.search(text), text[:60]
        (picture,) = re.findall(r"^!\[[^\]]+\]\((\S+\.png)\)$", text, re.MULTILINE)
        assert (ROOT / "docs" / picture).is_file()
        for part in ("*The paper.*", "*Here.*", "*Where it errs.*"):
            assert part in text


def test_programs_that_are_not_run_here_run_elsewhere():
    for program, test in ELSEWHERE.items():
        assert program in "\n".join(COMMANDS)
        assert program in (ROOT / test).read_text(encoding="utf-8")


def short(words, folder):
    """The command with its outputs in ``folder``, without what takes long; and the outputs."""
    kept, outputs, words = [], [], list(words)
    while words:
        word = words.pop(0)
        if word in LEFT_OUT:
            del words[: LEFT_OUT[word]]
            continue
        kept.append(word)
        if word in OUTPUTS:
            outputs.append(folder / os.path.basename(words.pop(0)))
            kept.append(str(outputs[-1]))
    return kept, outputs


@pytest.mark.parametrize(
    "line", [line for line in COMMANDS if line.split()[1] not in ELSEWHERE]
)
def test_commands_show_what_the_page_says(line, tmp_path, monkeypatch, capsys):
    for need in ("pyvista",) * ("--picture" in line) + ("matplotlib",) * ("--plot" in line):
        pytest.importorskip(need)
    monkeypatch.chdir(ROOT)
    (python, *words), outputs = short(shlex.split(line), tmp_path)
    assert python == "python"
    if words[:2] == ["-m", "collision_monitor"]:
        key = " ".join(words[2:4])
        assert main(words[2:]) == EXIT_CODES.get(key, 0)
        assert SAYS[key] in capsys.readouterr().out
    else:
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
        runpy.run_path(words[0], run_name="__main__")
    for path in outputs:
        assert path.read_bytes().startswith(b"\x89PNG")
