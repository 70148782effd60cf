# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""XML and YAML are read safely, and every refusal names the file and the line."""

import pytest

from collision_monitor.common.safe_files import (
    ReceivedText,
    parse_xml,
    read_document,
    read_documents,
)
from collision_monitor.errors import (
    CollisionMonitorError,
    MotionError,
    RobotDescriptionError,
    SceneError,
    SemanticDescriptionError,
)

GOOD = "<robot name='r'>\n  <link name='a'/>\n</robot>"


def _message(source, **arguments) -> str:
    with pytest.raises(RobotDescriptionError) as caught:
        parse_xml(source, **arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        GOOD,
        GOOD.encode(),
        "\ufeff" + GOOD,
        "\n\n  " + GOOD,
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.encode("utf-16"),
        b"\xff\xfe" + GOOD.encode("utf-16-le"),
        "<?xml version='1.0' encoding='utf-16'?>" + GOOD,
        "\n<?xml version='1.0' encoding='iso-8859-1'?>\n<!-- a < b --><?pi x?>" + GOOD,
        b"<?xml version='1.0' encoding='UTF-8'?>" + GOOD.encode(),
    ],
)
def test_text_and_bytes_in_every_dress(source):
    assert parse_xml(source).root.get("name") == "r"


def test_declared_encoding_of_bytes():
    text = "<?xml version='1.0' encoding='ISO-8859-1'?><robot name='Jürgen'/>"
    assert parse_xml(text.encode("latin-1")).root.get("name") == "Jürgen"
    assert parse_xml(text).root.get("name") == "Jürgen"


def test_path_as_text_and_as_path(written):
    path = written("r.urdf", GOOD)
    for source in (path, str(path)):
        document = parse_xml(source)
        assert document.path == path
        assert document.where(document.root[0]) == f"{path}:2"


def test_lines_survive_declaration_and_blanks():
    for start in ("", "\n\n", "<?xml version='1.0'?>\n", "<?xml\nversion='1.0'?>\n\n"):
        document = parse_xml(start + GOOD)
        line = start.count("\n") + 2
        assert document.where(document.root[0]) == f"<robot description>:{line}"


def test_lines_beyond_what_the_parser_counts_are_not_made_up():
    document = parse_xml("<robot>" + "\n" * 70_000 + "<link><a/></link></robot>")
    where = document.where(document.root[0])
    assert where in ("<robot description>:70001", "<robot description>:65535+")


def test_paths_that_lead_to_no_text_are_named(tmp_path):
    path = tmp_path / "no.urdf"
    assert str(path) in _message(path)
    assert "no such file" in _message(str(path))
    path.write_text("\n")
    assert f"{path}: is empty" in _message(path)
    assert str(tmp_path) in _message(tmp_path)
    assert "cannot read" in _message("a\0b")
    assert "cannot read" in _message("x" * 100_000)
    assert len(_message("x" * 100_000)) < 1000
    assert "got int" in _message(7)


@pytest.mark.parametrize("source", ["", "  \n", b"", b"\xef\xbb\xbf"])
def test_empty(source):
    assert "empty" in _message(source)


def test_text_from_a_topic_is_xml_or_an_error_that_tells_nothing_of_files(tmp_path, written):
    there = written("robot.urdf", "<robot name='x'/>")
    document = parse_xml(ReceivedText("\n<robot name='x'/>"))
    assert document.is_received and document.root.get("name") == "x" and document.path is None
    assert not parse_xml(there).is_received
    found = set()
    for text in (str(there), str(tmp_path / "gone"), "/root/.ssh", "/etc/shadow", "", " ", "\0"):
        with pytest.raises(RobotDescriptionError, match="not XML.*never the path") as caught:
            parse_xml(ReceivedText(text))
        found.add(str(caught.value))
    assert len(found) == 1


def test_not_xml_names_file_line_and_reason(written):
    path = written("r.urdf", "<robot>\n<link>\n</robot>")
    message = _message(path)
    assert f"{path}:3: not XML" in message
    assert "mismatch" in message


BOMB = """<?xml version="1.0"?>
<!-- innocent -->
<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<robot name="&b;"/>"""


@pytest.mark.parametrize(
    "source",
    [
        BOMB,
        BOMB.encode(),
        BOMB.replace('<?xml version="1.0"?>', '<?xml version="1.0" encoding="utf-16"?>').encode(
            "utf-16"
        ),
        '\n\n<!DOCTYPE robot SYSTEM "http://localhost:9/x.dtd"><robot/>',
        '<?pi ?>\n\n<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot>&x;</robot>',
    ],
)
def test_doctype_is_refused_with_its_line(source):
    message = _message(source)
    assert ":3: a DOCTYPE" in message
    assert "refused" in message


def test_text_that_is_not_xml():
    assert "not XML" in _message("<robot>&nothing;</robot>")
    assert "not XML" in _message("<a>" * 100_000)
    assert ":2: not XML: not utf-8 text" in _message(b"<robot>\n\xff</robot>")
    puny = b"<?xml version='1.0' encoding='punycode'?><a/>"
    assert "'punycode' is not supported" in _message(puny)
    assert ":2: not XML" in _message("<robot>\n\ud800</robot>")


def test_class_of_error_and_name_of_text_are_the_callers():
    with pytest.raises(SemanticDescriptionError, match="<SRDF>:1: not XML"):
        parse_xml("<robot", SemanticDescriptionError, "SRDF")
    assert issubclass(SemanticDescriptionError, CollisionMonitorError)


def test_comments_are_dropped():
    root = parse_xml("<robot><!-- <link/> --><?pi?><link/></robot>").root
    assert [child.tag for child in root] == ["link"]


def file(tmp_path, text):
    """A file with this text."""
    path = tmp_path / "some.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("comment", ["<!-- a -- b -->", "<!-- <c/> --!>\n-->", "<!-- a --->"])
def test_hyphens_in_a_comment_do_not_matter_as_in_urdfdom(comment):
    document = parse_xml(GOOD.replace("</robot>", f"{comment}<link name='b'/></robot>"))
    assert [link.get("name") for link in document.root] == ["a", "b"]
    assert document.where(document.root[1]).endswith(f":{3 + comment.count(chr(10))}")
    assert ":3: not XML: " in _message(GOOD.replace("</robot>", "<!-- a -- b </robot>"))
    assert ": not XML: " in _message(GOOD.replace("</robot>", f"{comment}</link></robot>"))


def test_what_looks_like_a_comment_in_text_is_text():
    text = "<robot><a><![CDATA[<!-- 1 -->]]></a><?pi <!-- ?><b>-->2</b></robot>"
    assert [child.text for child in parse_xml(text).root] == ["<!-- 1 -->", "-->2"]


def test_documents_are_read_one_by_one(tmp_path):
    path = file(tmp_path, "a: 1\n---\n- b\n---\n")
    assert read_documents(path, MotionError, "motion") == [{"a": 1}, ["b"], None]
    with pytest.raises(SceneError, match="expected one document, got 3"):
        read_document(path, SceneError, "scene")
    assert read_document(file(tmp_path, ""), SceneError, "scene") is None


def test_numbers_with_exponents_are_numbers(tmp_path):
    text = "[1e5, 1.0e5, -2.5E-3, .5e1, 1.e+2, 1.0e-05, '1e5', e5, 1e5m, 1e]"
    expected = [1e5, 1e5, -2.5e-3, 5.0, 100.0, 1e-5, "1e5", "e5", "1e5m", "1e"]
    assert read_document(file(tmp_path, text), SceneError, "scene") == expected


def test_numbers_of_old_yaml_are_read_as_in_new(tmp_path):
    """In YAML 1.1 the first four are 8, -10, 90 and 90.5."""
    text = "[010, -012, 1:30, 1:30.5, 0x10, 0]"
    expected = [10, -12, "1:30", "1:30.5", 16, 0]
    assert read_document(file(tmp_path, text), SceneError, "scene") == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: !!python/object/apply:os.getcwd []", "not YAML"),
        ("a: 1\na: 2", "some.yaml:2: not YAML: duplicate key 'a'"),
        ("[" * 200 + "]" * 200, "nested deeper than 100 levels"),
        ("x" * 200_000, "motion: larger than 100000 bytes"),
        ("a: !!timestamp x", "not YAML"),
    ],
)
def test_what_is_no_data_is_refused_with_the_error_asked_for(tmp_path, text, says):
    with pytest.raises(MotionError, match=says):
        read_documents(file(tmp_path, text), MotionError, "motion", 100_000)
