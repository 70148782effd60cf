# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""XML and YAML from untrusted files or topics.

XML: document type declarations are rejected before parsing, and with them entities, external
subsets and every known expansion attack. Nothing is fetched. Elements have line numbers for
messages. YAML: no objects, no duplicate keys, limited size and depth.
"""

from __future__ import annotations

import codecs
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from lxml import etree

from collision_monitor.common.files import read_file
from collision_monitor.errors import CollisionMonitorError, RobotDescriptionError

# -- XML --

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ENCODINGS = re.compile(
    r"utf-?8|utf-?16(-?[lb]e)?|(us-)?ascii|iso-?8859-\d{1,2}|latin-?1|(windows-|cp)125\d"
    r"|gbk|gb2312|gb18030|big5|shift_jis|euc-(jp|kr)",
    re.IGNORECASE,
)
_LAST_LINE = 65535  # libxml2 keeps 16 bits of it, and more only for some elements
_DECLARATION = re.compile(r"<\?xml\s.*?\?>", re.DOTALL)
_DECLARED_ENCODING = re.compile(rb"<\?xml\s[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
# tinyxml, which reads URDFs elsewhere, ends a comment at the first "-->", whatever is inside.
_COMMENT = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>", re.DOTALL)
_PROLOG_ITEM = re.compile(r"\s+|<!--.*?-->|<\?.*?\?>", re.DOTALL)


@dataclass(frozen=True)
class ReceivedText:
    """Text from a topic: XML or an error, never a path.

    It may refer to fewer files than a document of the user: see `packages.FileFinder`.
    """

    text: str


@dataclass(frozen=True, eq=False)
class XmlDocument:
    """A parsed document: ``path`` is None for text, ``name`` is for messages.

    ``is_received``: whether it was a `ReceivedText`.
    """

    root: etree._Element
    name: str
    path: Path | None = None
    is_received: bool = False

    def where(self, element: etree._Element) -> str:
        """Return ``name:line`` of an element, ``name:65535+`` where the parser lost count."""
        line = element.sourceline
        return f"{self.name}:{line}" + ("+" if line == _LAST_LINE else "")


def parse_xml(
    source: str | bytes | os.PathLike | ReceivedText,
    error: type[CollisionMonitorError] = RobotDescriptionError,
    what: str = "robot description",
    huge: bool = False,
) -> XmlDocument:
    """Parse XML text, bytes or a file; comments and processing instructions are dropped.

    A str whose first character (after blanks) is ``<`` is text, any other str is
    a path; bytes and `ReceivedText` are text. ``what`` names text in messages, and ``huge`` lifts
    the parser's limit of 10 MB for one text node (meshes).

    Raises ``error``, naming the file and line: no such file, undecodable, not
    XML, or a DOCTYPE.
    """
    text, name, path = _read(source, error, what)
    if not text.strip():
        raise error(f"{name}: is empty, expected XML")
    # The text is re-encoded below, so its own claim about the encoding no longer holds.
    text = _DECLARATION.sub(_lines, text, count=1)
    _refuse_doctype(text, name, error)
    text = _COMMENT.sub(lambda m: _lines(m) if m[0].startswith("<!--") else m[0], text)
    try:
        root = _parsed(text.encode("utf-8"), huge)
    except etree.XMLSyntaxError as problem:
        reason = re.sub(r", line \d+, column \d+.*$", "", problem.msg or "syntax error")
        raise error(f"{name}:{problem.lineno or 1}: not XML: {reason}") from None
    except UnicodeEncodeError as problem:
        line = text.count("\n", 0, problem.start) + 1
        raise error(f"{name}:{line}: not XML: a character that is no Unicode text") from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise error(f"{name}:1: a DOCTYPE is refused")
    return XmlDocument(root, name, path, isinstance(source, ReceivedText))


def _lines(match: re.Match) -> str:
    """As many empty lines as the match has, so that others keep their numbers."""
    return "\n" * match[0].count("\n")


def _parsed(text: bytes, huge: bool) -> etree._Element:
    """The root; as for tinyxml, which reads URDFs elsewhere, namespaces mean nothing.

    Names of a default namespace are plain names, and a prefix need not be declared.

    Raises:
        XMLSyntaxError: not XML.
    """
    # Undeclared prefixes are the only errors that the parser may recover from.
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        dtd_validation=False,
        no_network=True,
        huge_tree=huge,
        remove_pis=True,
        recover=True,
    )
    root = etree.fromstring(text, parser)
    errors = parser.error_log.filter_from_errors()
    serious = [e for e in errors if e.type != etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE]
    if root is None or serious:
        first = (serious or errors)[0]
        raise etree.XMLSyntaxError(first.message, first.type, first.line, first.column)
    for element in root.iter(etree.Element):
        if element.prefix is None and element.tag.startswith("{"):
            element.tag = etree.QName(element).localname
    etree.cleanup_namespaces(root)
    return root


def _read(
    source: str | bytes | os.PathLike | ReceivedText, error: type[CollisionMonitorError], what: str
) -> tuple[str, str, Path | None]:
    is_received = isinstance(source, ReceivedText)
    if isinstance(source, ReceivedText):
        source = source.text
    if isinstance(source, (bytes, bytearray)):
        return _decode(bytes(source), f"<{what}>", error), f"<{what}>", None
    if isinstance(source, str):
        stripped = source.lstrip("\ufeff \t\r\n")
        if stripped.startswith("<"):
            # Leading blanks before a declaration are no XML, but common in launch files.
            return "\n" * source[: -len(stripped)].count("\n") + stripped, f"<{what}>", None
        if is_received:
            raise error(
                f"<{what}>:1: not XML: text from a topic must begin with '<', and is never the "
                "path of a file; give paths as a parameter"
            )
        if not stripped:
            raise error(f"<{what}>: is empty, expected XML text or the path of a file")
    elif not isinstance(source, os.PathLike):
        raise error(f"{what}: expected a path, XML text or bytes, got {type(source).__name__}")
    path = Path(source)
    return _decode(read_file(path, error, what), str(path), error), str(path), path


def _decode(data: bytes, name: str, error: type[CollisionMonitorError]) -> str:
    encoding = "utf-8"
    for mark, encoding_of_mark in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], encoding_of_mark
            break
    else:
        declared = _DECLARED_ENCODING.match(data.lstrip()[:300])
        if declared:
            encoding = declared[1].decode("ascii")
    if not _ENCODINGS.fullmatch(encoding):
        raise error(f"{name}:1: encoding {encoding!r} is not supported; use UTF-8")
    try:
        return data.decode(encoding).lstrip("\ufeff")
    except (UnicodeDecodeError, LookupError) as problem:
        start = getattr(problem, "start", 0)
        line = data.count(b"\n", 0, start) + 1
        raise error(f"{name}:{line}: not XML: not {encoding} text ({problem})") from None


def _refuse_doctype(text: str, name: str, error: type[CollisionMonitorError]) -> None:
    # A DOCTYPE can only stand before the root element.
    position = 0
    while item := _PROLOG_ITEM.match(text, position):
        position = item.end()
    if text[position : position + 9].upper() == "<!DOCTYPE":
        line = text.count("\n", 0, position) + 1
        raise error(f"{name}:{line}: a DOCTYPE (document type, entities) is refused; remove it")


# -- YAML --

# Nested lists: libyaml parses them recursively, and a stack overflow kills the process.
DEEPEST = 100  # of what is nested
MOST_REFERRED = 100_000  # in all: a few that refer to each other can ask for billions
LARGEST_YAML = 10_000_000  # bytes
_MERGE = "tag:yaml.org,2002:merge"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """The safe loader, except that duplicate keys are an error.

    libyaml's, if available: it is three times as fast.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """Return the mapping of a node after checking for duplicate keys."""
        seen = set()
        for key, _ in node.value:
            if not isinstance(key.value, str) or key.tag == _MERGE:
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"duplicate key {key.value!r}", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge what '<<' refers to, up to a limit: nested merges grow exponentially."""
        for key, value in node.value:
            if key.tag != _MERGE:
                continue
            for part in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if not isinstance(part, yaml.MappingNode):
                    continue  # refused by the library
                self.flatten_mapping(part)
                self._merged = getattr(self, "_merged", 0) + len(part.value)
                if self._merged > MOST_REFERRED:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"'<<' merges more than {MOST_REFERRED} keys", key.start_mark
                    )
        super().flatten_mapping(node)


def _number(construct: Any) -> Any:
    """The library's constructor of numbers, but 010 is ten and 1:30 a text, as in YAML 1.2.

    In 1.1 they are eight, and ninety in base 60, which takes long to read.
    """

    def as_in_new_files(loader: _Loader, node: yaml.ScalarNode) -> Any:
        if ":" in node.value:
            return node.value  # a text
        if node.value.lstrip("+-").isdecimal():
            return int(node.value)
        return construct(loader, node)

    return as_in_new_files


for _kind in ("int", "float"):
    _tag = f"tag:yaml.org,2002:{_kind}"
    _Loader.add_constructor(_tag, _number(_Loader.yaml_constructors[_tag]))

# As YAML 1.2 has it: 1e5 and 1.0e5 are numbers. In 1.1, which the library reads, they are text.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


class _AngleLoader(_Loader):
    """Also reads ``!degrees 90`` and ``!radians 1.5`` of ROS, as radians."""


def _angle(unit: float) -> Any:
    def construct(loader: _AngleLoader, node: yaml.Node) -> float:
        try:
            return float(node.value) * unit
        except (TypeError, ValueError):
            raise yaml.constructor.ConstructorError(
                None, None, f"{node.tag}: {node.value!r:.80} is not a number", node.start_mark
            ) from None

    return construct


_AngleLoader.add_constructor("!degrees", _angle(math.radians(1.0)))
_AngleLoader.add_constructor("!radians", _angle(1.0))


def _refuse_deep(text: bytes) -> None:
    """Raise YAMLError if the text is nested too deeply."""
    depth = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise yaml.MarkedYAMLError(
                    None, None, f"nested deeper than {DEEPEST} levels", event.start_mark
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def read_documents(
    path: Path,
    error: type[CollisionMonitorError],
    what: str,
    largest: int = LARGEST_YAML,
    angles: bool = False,
) -> list[Any]:
    """The documents of a YAML file of at most ``largest`` bytes, [] for an empty one.

    ``angles``: numbers may be tagged as ``!degrees`` or ``!radians``, and are radians.

    Raises ``error`` as `read_file`, which does not read pipes; where it is no YAML, it names the
    line.
    """
    return parse_documents(read_file(path, error, what, largest, regular=True), path, error, angles)


def parse_documents(
    text: bytes, path: Path, error: type[CollisionMonitorError], angles: bool = False
) -> list[Any]:
    """The documents of the content of a YAML file; see `read_documents`."""
    try:
        _refuse_deep(text)
        return list(yaml.load_all(text, _AngleLoader if angles else _Loader))
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        reason = getattr(problem, "problem", None) or " ".join(str(problem).split())
        raise error(f"{path.name}{line}: not YAML: {reason}") from None
    except Exception as problem:  # tags with wrong values make PyYAML raise any exception
        raise error(f"{path.name}: not YAML: {type(problem).__name__}: {problem}") from None


def read_document(
    path: Path, error: type[CollisionMonitorError], what: str, angles: bool = False
) -> Any:
    """The only document of a YAML file, None for an empty one; see `read_documents`."""
    documents = read_documents(path, error, what, angles=angles)
    if len(documents) > 1:
        raise error(f"{path.name}: expected one document, got {len(documents)} (---)")
    return documents[0] if documents else None
