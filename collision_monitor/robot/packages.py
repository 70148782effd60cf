# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Where the files that a robot description names are.

``package://pkg/rest`` is looked for, in this order, in the given package
folders, AMENT_PREFIX_PATH, ROS_PACKAGE_PATH, the folders above the description
itself, and the share folder of this Python.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from collision_monitor.errors import CollisionMonitorError, MeshError, RobotDescriptionError
from collision_monitor.robot.safe_xml import parse_xml

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)")


class FileFinder:
    """Finds files by URI or path on behalf of one description.

    ``package_dirs``: folders that hold packages, packages themselves, or
    prefixes with a share folder. ``document``: path of the describing file, None
    for text, whose relative paths start at the working directory.
    """

    def __init__(
        self,
        package_dirs: Sequence[str | os.PathLike] = (),
        document: Path | None = None,
    ):
        if isinstance(package_dirs, (str, os.PathLike)):
            package_dirs = (package_dirs,)
        self._package_dirs = [Path(os.path.expanduser(folder)) for folder in package_dirs]
        self._names: dict[Path, str | None] = {}  # package names by folder, read once
        self._document = None if document is None else Path(os.path.abspath(document))

    def find(self, uri: str, user: str, error: type[CollisionMonitorError] = MeshError) -> Path:
        """Return the file that ``uri`` means; ``user`` says who asks, for messages.

        Raises ``error`` that lists every place looked at.
        """
        if not uri.strip():
            raise error(f"{user}: the file name is empty")
        if "\0" in uri:
            raise error(f"{user}: the file name {uri!r} holds a zero character")
        tried: list[Path] = []
        for candidate in self._candidates(uri.strip(), user, error):
            if candidate not in tried:
                tried.append(candidate)
                if _exists(candidate):
                    return candidate
        places = "".join(f"\n  {path}" for path in tried)
        package = uri.strip().removeprefix("package:").lstrip("/").split("/")[0]
        hint = (
            f"\nadd the folder in which {package!r} lies to package_dirs (option --package-dir)"
            if uri.strip().startswith("package:")
            else ""
        )
        raise error(f"{user}: no file {uri!r}; looked at{places or ' nothing'}{hint}")

    def _candidates(
        self, uri: str, user: str, error: type[CollisionMonitorError]
    ) -> Iterator[Path]:
        scheme = _SCHEME.match(uri)
        if scheme is None:
            for text in _spellings(uri):
                path = Path(text)
                for base in [None] if path.is_absolute() else self._bases():
                    yield path if base is None else base / path
            return
        name = scheme[1].lower()
        if name == "package":
            package, _, rest = uri[scheme.end() :].lstrip("/").partition("/")
            if not package or not rest or package in (".", ".."):
                raise error(f"{user}: {uri!r} should read package://<package>/<path>")
            for folder in self._packages(package):
                for text in _spellings(rest):
                    yield folder / text.lstrip("/")
        elif name == "file":
            yield from map(Path, _spellings(_local_path(uri[scheme.end() :], uri, user, error)))
        else:
            raise error(
                f"{user}: {uri!r}: scheme {name!r} is not supported; use package://, file:// "
                "or a path (nothing is fetched over the network)"
            )

    def _bases(self) -> list[Path]:
        own = Path.cwd() if self._document is None else self._document.parent
        return [own, *self._package_dirs]

    def _packages(self, package: str) -> Iterator[Path]:
        for folder in self._package_dirs:
            yield from self._in_entry(folder, package)
            yield folder / "share" / package
        for prefix in _path_list("AMENT_PREFIX_PATH"):
            yield prefix / "share" / package
        for folder in _path_list("ROS_PACKAGE_PATH"):
            yield from self._in_entry(folder, package)
        if self._document is not None:
            for folder in self._document.parents:
                if self._is_package(folder, package):
                    yield folder
        # Last: a copy installed some time ago must not stand in for the files beside it.
        yield Path(sys.prefix) / "share" / package

    def _in_entry(self, folder: Path, package: str) -> Iterator[Path]:
        """Yield ``folder/package``, and ``folder`` where it is the package itself."""
        yield folder / package
        if self._is_package(folder, package):
            yield folder

    def _is_package(self, folder: Path, package: str) -> bool:
        if os.path.basename(os.path.abspath(folder)) == package:
            return True
        if folder not in self._names:
            self._names[folder] = _package_name(folder)
        return self._names[folder] == package


def _package_name(folder: Path) -> str | None:
    manifest = folder / "package.xml"
    if not _exists(manifest):
        return None
    try:
        name = parse_xml(manifest).root.findtext("name")
    except RobotDescriptionError:
        return None  # somebody else's broken manifest: not this package, then
    return None if name is None else name.strip()


def _path_list(variable: str) -> list[Path]:
    return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]


def _local_path(rest: str, uri: str, user: str, error: type[CollisionMonitorError]) -> str:
    if not rest.startswith("//"):
        return rest
    host, slash, path = rest[2:].partition("/")
    if host not in ("", "localhost"):
        raise error(f"{user}: {uri!r} names the host {host!r}; write file:///absolute/path")
    return slash + path


def _spellings(text: str) -> list[str]:
    """Return the text as written, and with percent escapes resolved."""
    plain = unquote(text)
    return [text] if plain == text or "\0" in plain else [text, plain]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long, or a folder that may not be read
        return False
