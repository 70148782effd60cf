# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Links lead somewhere, commands are understood, and the tests that are named exist."""

import ast
import contextlib
import io
import re
import runpy
import shlex
from functools import cache
from pathlib import Path

import pytest
from support.paths import ROOT

from collision_monitor.__main__ import parser

pytestmark = pytest.mark.early

MADE = ROOT / "docs/api.md"  # by `make docs`, not kept
PAGES = [*sorted(ROOT.glob("*.md")), *sorted({*(ROOT / "docs").rglob("*.md")} - {MADE})]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FILE = re.compile(r"(?<![\w/.])(?:examples|benchmarks|docs|config|urdf)/[\w/.-]+\w")
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


@cache
def text_of(page: Path) -> str:
    """A page."""
    return page.read_text(encoding="utf-8")


def without_code(text: str) -> str:
    """A page without code, in which brackets and # mean other things."""
    text = FENCE.sub("", text)
    return re.sub(r"`[^`\n]*`", lambda m: "x" * len(m[0]), text)


@cache
def anchors(page: Path) -> frozenset[str]:
    """What the headings of a page are called in links, as GitHub does it."""
    headings = re.findall(r"^#+ +(.*?) *$", FENCE.sub("", text_of(page)), re.MULTILINE)
    found: list[str] = []
    for heading in headings:
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        again = re.compile(rf"{re.escape(slug)}(-\d+)?")
        count = sum(again.fullmatch(other) is not None for other in found)
        found.append(f"{slug}-{count}" if count else slug)
    return frozenset(found)


def links(page: Path) -> list[str]:
    """Targets of a page's links that are not on the web."""
    targets = LINK.findall(without_code(text_of(page)))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def test_links_lead_somewhere():
    for page, target in [(each, target) for each in PAGES for target in links(each)]:
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        assert other.exists(), f"{page.name}: {target} is not there"
        assert ROOT in (other, *other.parents), f"{page.name}: {target} leads out of the package"
        if anchor:
            assert anchor in anchors(other), f"{page.name}: {other.name} has no heading {anchor}"


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        paths = [target.partition("#")[0] for target in links(page)]
        waiting += [(page.parent / path).resolve() for path in paths if path]
    assert {page.name for page in PAGES} == {page.name for page in reached}


def code_lines(page: Path) -> list[str]:
    """Lines of code, fenced, indented or between words; continued ones are joined."""
    text = re.sub(r"\\\n\s*", " ", text_of(page))
    blocks = [block for kind, block in FENCE.findall(text) if kind != "python"]
    plain = FENCE.sub("", text)
    blocks += re.findall(r"^ {4,}(\S.*)$", plain, re.MULTILINE)
    blocks += re.findall(r"`([^`\n]+)`", plain)
    return [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]


def words_of(line: str) -> list[str]:
    """As a shell sees a line, up to a comment, a pipe or the next command."""
    return shlex.split(re.split(r"\s[#|;>]|\s&&", line)[0], comments=True)


def commands() -> list[tuple[str, str]]:
    """Command lines of this program in all pages; those of one word are but names."""
    found = {
        (page.name, line)
        for page in PAGES
        for line in code_lines(page)
        if re.match(r"(\S*python3? -m collision_monitor) \w+ \S", line)
    }
    assert len(found) > 20
    return sorted(found)


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_are_understood(page, line):
    words = words_of(line)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            parser().parse_args(words[words.index("collision_monitor") + 1 :])
    except SystemExit as end:
        assert end.code == 0, f"{page}: {line}: {said.getvalue()}"


def test_make_has_the_targets_that_pages_speak_of():
    makefile = text_of(ROOT / "Makefile")
    targets = set(re.findall(r"^([a-z][\w-]*):(?!=)", makefile, re.MULTILINE))
    helped = set(re.findall(r'"make ([\w-]+) ', makefile))
    assert helped | {"help"} == targets
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split())
    assert phony == targets
    for page in PAGES:
        for line in code_lines(page):
            if found := re.match(r"make ([a-z][\w-]*)", line):
                assert found[1] in targets, f"{page.name}: {line}"


def test_programs_files_and_launch_files_are_there():
    for page in PAGES:
        for line in code_lines(page):
            for path in FILE.findall(line):
                if page.name != "CHANGELOG.md":
                    assert (ROOT / path).exists(), f"{page.name}: {path}"
            for module in re.findall(r"python3? -m (collision_monitor\.[\w.]+)", line):
                assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file(), line
            for name in re.findall(r"\b(\w+\.launch\.py)", line):
                assert (ROOT / "launch" / name).is_file(), f"{page.name}: {line}"
            for name in re.findall(r"ros2 run collision_monitor (\w+)", line):
                setup = text_of(ROOT / "setup.py").replace("{NAME}", "collision_monitor")
                assert f'f"{name} = ' in setup, f"{page.name}: {line}"


def test_benchmarks_are_few_and_say_how_they_are_called():
    scripts = sorted((ROOT / "benchmarks").glob("*.py"))
    assert 0 < len(scripts) <= 20
    for path in scripts:
        doc = ast.get_docstring(ast.parse(text_of(path)))
        assert f"python benchmarks/{path.name}" in doc, path.name


def test_questions_that_pages_ask_of_benchmarks_are_answered():
    asked = 0
    for page in PAGES:
        for name, word in re.findall(r"python benchmarks/(\w+)\.py ([a-z-]+)", text_of(page)):
            if not word.startswith("-"):
                known = re.findall(r"(\w+)=\"[\w.]+\"", text_of(ROOT / f"benchmarks/{name}.py"))
                assert word.replace("-", "_") in known, f"{page.name}: {name} {word}"
                asked += 1
    assert asked > 3


def test_messages_that_troubles_are_told_by_are_those_of_the_program():
    """What is marked as code in the first column of a table, a sentence of it at least."""
    sources = sorted((ROOT / "collision_monitor").rglob("*.py"))
    # Messages are joined from lines of code.
    program = re.sub(r'"\s*f?"', "", " ".join(text_of(path) for path in sources))
    rows = re.findall(r"^\| (.*?) \|", text_of(ROOT / "docs/troubleshooting.md"), re.MULTILINE)
    marked = [text for row in rows for text in re.findall(r"`([^`]+)`", row)]
    assert len(marked) > 12
    for text in marked:
        assert text in program, text


def test_extras_that_pages_speak_of_are_declared():
    setup = text_of(ROOT / "setup.py")
    extras = set(re.findall(r'^        "(\w+)": ', setup, re.MULTILINE))
    for page in PAGES:
        asked = re.findall(r"pip install '?(?:\.|collision_monitor)\[([\w,]+)\]", text_of(page))
        for names in asked:
            assert set(names.split(",")) <= extras, f"{page.name}: [{names}]"


def test_parameters_of_commands_exist():
    pytest.importorskip("rclpy", reason="rclpy is not installed")
    from collision_monitor.nodes.parameters import (
        monitor_parameters,
        self_collision_parameters,
        simulation_parameters,
    )

    modules = (monitor_parameters, self_collision_parameters, simulation_parameters)
    known = {p.name for module in modules for p in module.PARAMETERS} | {"use_sim_time"}
    for page in PAGES:
        for line in code_lines(page):
            for name in re.findall(r"(?:-p |param set /?\w+ )(\w+)", line):
                assert name in known, f"{page.name}: {line}"


def test_arguments_of_launch_files_exist():
    """``name:=value`` without -p or -r before it."""
    sources = [*(ROOT / "launch").glob("*.py"), ROOT / "collision_monitor/nodes/launch_parts.py"]
    text = "\n".join(text_of(path) for path in sources)
    known = set(re.findall(r'\b(?:argument|switch)\(\s*"(\w+)"', text))
    known |= set(re.findall(r'^    "(\w+)": \(', text, re.MULTILINE))  # ROBOT and the like
    assert {"urdf", "rviz", "scene", "controller_action", "visual_meshes", "fixed_frame"} <= known
    for page in PAGES:
        for line in code_lines(page):
            for option, name in re.findall(r"(-[pr] )?(?<![\w/.~])(\w+):=", line):
                assert option or name in known, f"{page.name}: {line}"


def test_the_page_of_parameters_is_what_the_nodes_declare():
    pytest.importorskip("rclpy", reason="rclpy is not installed")
    assert runpy.run_path(str(ROOT / "docs/make_parameters.py"))["main"](["--check"]) == 0


def test_the_page_of_the_python_api_has_every_public_name(tmp_path):
    import collision_monitor
    from collision_monitor import motion, self_collision

    page = tmp_path / "api.md"
    assert runpy.run_path(str(ROOT / "docs/make_api.py"))["main"](["--output", str(page)]) == 0
    headings = re.findall(r"^### `(\w+)`$", page.read_text(), re.MULTILINE)
    names = [name for m in (collision_monitor, motion, self_collision) for name in m.__all__]
    assert sorted(headings) == sorted(set(names))


def test_python_in_pages_is_python():
    for page in PAGES:
        for kind, block in FENCE.findall(text_of(page)):
            if kind == "python":
                ast.parse(block, page.name)


def test_python_of_the_readme_runs(monkeypatch):
    pytest.importorskip("piqp", reason="the extra adjust is not installed")
    found = FENCE.findall(text_of(ROOT / "README.md"))
    blocks = [block for kind, block in found if kind == "python"]
    assert blocks
    monkeypatch.chdir(ROOT)
    exec("\n".join(blocks), {"__name__": "readme"})


def test_the_readme_is_short():
    assert len(text_of(ROOT / "README.md").splitlines()) <= 150


def test_the_readme_has_columns_of_the_table_in_the_docs(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from common import distance_tables

    full, short = (distance_tables.block_in(page) for page in distance_tables.PAGES)
    assert short == distance_tables.for_readme(full)


def test_the_rules_the_decisions_and_the_glossary_are_short():
    page = text_of(ROOT / "docs/behaviour.md")
    rules = page.split("### Pairs that are left out, or near")[1].split("### What overrules")[0]
    assert len([line for line in rules.splitlines() if line and line[0] != "#"]) <= 25
    for decision in (ROOT / "docs/decisions").glob("0*.md"):
        assert len(text_of(decision).splitlines()) <= 15, decision.name
    glossary = text_of(ROOT / "docs/architecture.md").split("## Glossary")[1]
    assert 2 < len(re.findall(r"^\| ", glossary, re.MULTILINE)) <= 31  # with the title


def test_pages_speak_of_special_pairs_with_two_words():
    other = re.compile(r"\b(?:unmonitored|structural|permanent|often near)\b")
    for page in PAGES:
        found = other.findall(re.sub(r"`[^`\n]*`", "", text_of(page)))
        assert not found, f"{page.name}: {found}"


# -- docs/safety.md: every promise and every fault has a test --

TESTS = {path.name: path for path in (ROOT / "test").rglob("test_*.py")}
SAFETY = (ROOT / "docs/safety.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
FAULTS = (
    "no data", "partial data", "NaN", "all zeros at start", "unknown joint",
    "two publishers that contradict each other", "clock jump", "dead publisher", "overload",
    "bad description", "lost scene",
)  # fmt: skip


def rows(heading, text=SAFETY):
    """Cells of the table below a heading, without its head."""
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@cache
def functions(name):
    """Tests that a file has."""
    tree = ast.parse(TESTS[name].read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_row_names_a_test_and_every_test_that_is_named_exists():
    adjust = (ROOT / "docs/adjust.md").read_text(encoding="utf-8")
    for row in (*rows("Promises"), *rows("Faults"), *rows("Interruptions", adjust)):
        assert NAMED.search(row[-1]), f"no test: {row}"
    assert len(NAMED.findall(SAFETY)) > 30
    for file, function in NAMED.findall(SAFETY + adjust):
        assert function in functions(file), f"{file} has no {function}"


def test_every_fault_has_its_row_and_every_row_says_what_happens_and_when():
    table = rows("Faults")
    assert all(len(row) == 4 and all(row) for row in table)
    for fault in FAULTS:
        assert any(fault in row[0] for row in table), f"no row for {fault}"
