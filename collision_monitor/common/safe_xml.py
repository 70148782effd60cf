# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""XML from untrusted files or topics.

Document type declarations are rejected before parsing, and with them entities, external subsets and
every known expansion attack. Nothing is fetched. Elements have line numbers for messages.
"""

from __future__ import annotations

import codecs
import os
import re
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from collision_monitor.common.magnitudes import LARGEST_FILE, read_bounded
from collision_monitor.errors import CollisionMonitorError, RobotDescriptionError

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
    text = _DECLARATION.sub(lambda m: "\n" * m[0].count("\n"), text, count=1)
    _refuse_doctype(text, name, error)
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        dtd_validation=False,
        no_network=True,
        huge_tree=huge,
        remove_comments=True,
        remove_pis=True,
        recover=False,
    )
    try:
        root = etree.fromstring(text.encode("utf-8"), parser)
    except etree.XMLSyntaxError as problem:
        reason = re.sub(r", line \d+, column \d+.*$", "", problem.msg or "syntax error")
        raise error(f"{name}:{problem.lineno or 1}: not XML: {reason}") from None
    except UnicodeEncodeError as problem:
        line = text.count("\n", 0, problem.start) + 1
        raise error(f"{name}:{line}: not XML: a character that is no Unicode text") from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise error(f"{name}:1: a DOCTYPE is refused")
    return XmlDocument(root, name, path, isinstance(source, ReceivedText))


def _read(
    source: str | bytes | os.PathLike | ReceivedText,
    error: type[CollisionMonitorError],
    what: str,
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
    try:
        path = Path(source)
        data = read_bounded(path)
    except FileNotFoundError:
        raise error(f"{_shown(source)}: no such file (looked for the {what} there)") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise error(f"{_shown(source)}: cannot read the {what}: {reason}") from None
    if data is None:
        raise error(f"{_shown(source)}: larger than {LARGEST_FILE} bytes, no {what} is")
    return _decode(data, str(path), error), str(path), path


def _shown(source: object) -> str:
    text = str(source)
    return text if len(text) <= 300 else text[:300] + "..."


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
