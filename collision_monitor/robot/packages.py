# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Finds files that a robot description names.

``package://pkg/rest`` is looked for, in this order, in the given package
folders, AMENT_PREFIX_PATH, ROS_PACKAGE_PATH, the folders above the description
itself, and the share folder of this Python. A given folder, and one of ROS_PACKAGE_PATH,
is searched for packages at any depth, as colcon does (`find_packages`).

Descriptions and messages from topics name files in packages and in the given folders only.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from collision_monitor.common.safe_files import parse_xml
from collision_monitor.errors import CollisionMonitorError, MeshError, RobotDescriptionError

logger = logging.getLogger(__name__)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)")
_IGNORE_MARKERS = frozenset({"COLCON_IGNORE", "AMENT_IGNORE", "CATKIN_IGNORE"})
_MOST_FOLDERS = 20_000  # that a search for packages visits


@dataclass(frozen=True)
class Packages:
    """The packages below a folder.

    Attributes:
        folders: of each package, by the name in its package.xml; nearest to the top first.
        complete: False if the search ended early because there are too many folders.
        skipped: markers of folders that are to be ignored.
    """

    folders: dict[str, list[Path]] = field(default_factory=dict)
    complete: bool = True
    skipped: tuple[Path, ...] = ()


def find_packages(top: Path, most_folders: int = _MOST_FOLDERS) -> Packages:
    """Find packages by the name in their package.xml, at any depth below ``top``.

    One without a name is called as its folder, as packages were before they had this file.
    As colcon does: hidden folders and those with a COLCON_IGNORE, AMENT_IGNORE or CATKIN_IGNORE
    are skipped (but not ``top`` itself), nothing is searched for inside a
    package, and symbolic links are followed, to each folder once.
    """
    folders: dict[str, list[Path]] = {}
    skipped: list[Path] = []
    seen: set[tuple[int, int]] = set()
    level = [top]
    while level:
        below: list[Path] = []
        for folder in level:
            try:
                status = folder.stat()
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue
            if (status.st_dev, status.st_ino) in seen:
                continue
            if len(seen) == most_folders:
                return Packages(folders, False, tuple(skipped))
            seen.add((status.st_dev, status.st_ino))
            names = {entry.name for entry in entries}
            if folder is not top and names & _IGNORE_MARKERS:
                skipped.append(folder / min(names & _IGNORE_MARKERS))
                continue
            if "package.xml" in names and (name := _package_name(folder)) is not None:
                folders.setdefault(name, []).append(folder)
                continue
            below += [folder / e.name for e in entries if e.name[0] != "." and _is_folder(e)]
        level = below
    return Packages(folders, skipped=tuple(skipped))


class FileFinder:
    """Finds files by URI or path on behalf of one description.

    ``package_dirs``: folders that hold packages at any depth, packages themselves, or
    prefixes with a share folder. ``document``: path of the describing file, None
    for text, whose relative paths start at the working directory. ``is_received``: the
    URIs come from a topic. Then ``package://`` names files inside the package only, ``file://``
    those inside installed packages or ``package_dirs``, and paths those inside ``package_dirs``,
    also through ``..`` and symbolic links. What is outside is refused whether it exists or not.
    ``most_folders``: the search for packages below a folder visits no more.
    """

    def __init__(
        self,
        package_dirs: Sequence[str | os.PathLike] = (),
        document: Path | None = None,
        is_received: bool = False,
        most_folders: int = _MOST_FOLDERS,
    ):
        if isinstance(package_dirs, (str, os.PathLike)):
            package_dirs = (package_dirs,)
        self._package_dirs = [Path(os.path.expanduser(folder)) for folder in package_dirs]
        self._names: dict[Path, str | None] = {}  # package names by folder, read once
        self._packages_below: dict[Path, Packages] = {}  # searched once
        self._repeated: set[str] = set()  # packages found twice, warned of once
        self._document = None if document is None else Path(os.path.abspath(document))
        self._is_received = is_received
        self._most_folders = most_folders

    def find(self, uri: str, user: str, error: type[CollisionMonitorError] = MeshError) -> Path:
        """Return the file that ``uri`` means; ``user`` names the caller in messages.

        Raises ``error`` that lists every place looked at.
        """
        if not uri.strip():
            raise error(f"{user}: the file name is empty")
        if "\0" in uri:
            raise error(f"{user}: the file name {uri!r} holds a zero character")
        if "$(" in uri or "${" in uri:
            raise error(f"{user}: the file name {uri!r} is not expanded; run xacro first")
        tried: list[Path] = []
        for candidate in self._candidates(uri.strip(), user, error):
            if candidate not in tried:
                tried.append(candidate)
                if _exists(candidate):
                    return candidate
        places = "".join(f"\n  {path}" for path in tried)
        if other := next(filter(None, map(_similar, tried)), None):
            places += f"\ndid you mean {str(other)!r}?"
        hint = self._hint(uri.strip()) if uri.strip().startswith("package:") else ""
        raise error(f"{user}: no file {uri!r}; searched{places or ' nothing'}{hint}")

    def _hint(self, uri: str) -> str:
        """Contents of the searched folders, and a remedy, for a message."""
        package = uri.removeprefix("package:").lstrip("/").split("/")[0]
        lines, is_found = [], False
        for folder, packages in self._packages_below.items():
            if not folder.is_dir():
                lines.append(f"{folder}: no such folder")
            elif package in packages.folders:
                is_found = True
                places = ", ".join(str(place) for place in packages.folders[package])
                lines.append(f"{places}: the package {package!r} is there, the file is not")
            elif package.strip(".") and _is_folder_without_manifest(folder / package):
                lines.append(f"{folder / package}: not a package, as it has no package.xml")
            else:
                count = len(packages.folders)
                lines.append(f"{folder}: none of its {count} packages is named {package!r}")
                lines += [f"{marker}: this folder is skipped" for marker in packages.skipped[:3]]
            if not packages.complete:
                lines.append(f"{folder}: only the first {self._most_folders} folders were searched")
        if is_found:
            return "".join(f"\n{line}" for line in lines)
        lines.append(
            f"add a folder that holds the package {package!r}, at any depth, to package_dirs "
            "(option --package-dir)"
        )
        return "".join(f"\n{line}" for line in lines)

    def _candidates(
        self, uri: str, user: str, error: type[CollisionMonitorError]
    ) -> Iterator[Path]:
        scheme = _SCHEME.match(uri)
        if scheme is None:
            if self._is_received:
                yield from self._listed(_spellings(uri), uri, user, error)
                return
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
                    path = folder / text.lstrip("/")
                    if self._is_received:
                        path = Path(os.path.normpath(path))  # ".." behind a link means its target
                        if not self._is_inside_package(path, folder, package):
                            raise error(
                                f"{user}: {uri!r} leads out of the package {package!r}, which is "
                                "refused for descriptions and messages from topics"
                            )
                    yield path
        elif name == "file":
            spellings = _spellings(_local_path(uri[scheme.end() :], uri, user, error))
            if self._is_received:
                installed = list(self._installed(spellings))
                if not installed:
                    yield from self._listed(spellings, uri, user, error)
                yield from installed
                return
            yield from map(Path, spellings)
        else:
            raise error(
                f"{user}: {uri!r}: scheme {name!r} is not supported; use package://, file:// "
                "or a path (nothing is fetched over the network)"
            )

    def _is_inside_package(self, path: Path, folder: Path, package: str) -> bool:
        """Whether the file is in the package; colcon links installed files to the sources."""
        if not path.is_relative_to(os.path.normpath(folder)):
            return False
        target = _resolved(path)
        return target.is_relative_to(_resolved(folder)) or any(
            self._is_package(above, package, by_manifest=True) for above in target.parents
        )

    def _installed(self, spellings: Sequence[str]) -> Iterator[Path]:
        """Yield the paths inside packages of AMENT_PREFIX_PATH: file://$(find pkg) for Gazebo."""
        for text in spellings:
            path = Path(os.path.normpath(text))
            for prefix in _path_list("AMENT_PREFIX_PATH"):
                share = Path(os.path.abspath(prefix / "share"))
                package = path.relative_to(share).parts[:1] if path.is_relative_to(share) else ()
                folder = share.joinpath(*package)
                is_package = bool(package) and self._manifest_name(folder) is not None
                if is_package and self._is_inside_package(path, folder, package[0]):
                    yield path

    def _listed(
        self, spellings: Sequence[str], uri: str, user: str, error: type[CollisionMonitorError]
    ) -> Iterator[Path]:
        """Yield the paths inside package_dirs, the working directory of relative ones."""
        folders = [Path(os.path.abspath(folder)) for folder in self._package_dirs]
        is_allowed = not any(os.path.normpath(text).startswith(("/", "..")) for text in spellings)
        for folder in folders:
            for text in spellings:
                path = Path(os.path.normpath(folder / text))
                inside = [each for each in folders if path.is_relative_to(each)]
                if any(_resolved(path).is_relative_to(_resolved(each)) for each in inside):
                    is_allowed = True
                    yield path
                elif inside:
                    is_allowed = False  # behind a symbolic link
        if not is_allowed:
            raise error(
                f"{user}: {uri!r} is refused: descriptions and messages from topics may name "
                "package://<package>/<path>, by file:// what is inside an installed package, and "
                "by file:// or a path what is inside a folder listed in the parameter package_dirs"
            )

    def _bases(self) -> list[Path]:
        own = Path.cwd() if self._document is None else self._document.parent
        return [own, *self._package_dirs]

    def _packages(self, package: str) -> Iterator[Path]:
        for folder in self._package_dirs:
            yield from self._in_entry(folder, package)
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
        """Yield the places of a package in a folder: the obvious ones first, then any depth.

        A folder of this name comes last if its manifest has another name, or it is to be ignored.
        """
        obvious = folder / package
        is_ignored = any(_exists(obvious / marker) for marker in _IGNORE_MARKERS)
        is_first = not is_ignored and self._manifest_name(obvious) in (None, package)
        if is_first:
            yield obvious
        if self._is_package(folder, package):
            yield folder
        yield folder / "share" / package
        if folder not in self._packages_below:
            self._packages_below[folder] = find_packages(folder, self._most_folders)
        places = self._packages_below[folder].folders.get(package, [])
        if len(places) > 1 and package not in self._repeated:
            self._repeated.add(package)
            first, *others = map(str, places)
            logger.warning(
                "package %r is taken from %s; it is also in %s, which is searched for files that "
                "the first lacks", package, first, ", ".join(others),
            )  # fmt: skip
        yield from places
        if not is_first:
            yield obvious

    def _is_package(self, folder: Path, package: str, by_manifest: bool = False) -> bool:
        if not by_manifest and os.path.basename(os.path.abspath(folder)) == package:
            return True
        return self._manifest_name(folder) == package

    def _manifest_name(self, folder: Path) -> str | None:
        if folder not in self._names:
            self._names[folder] = _package_name(folder)
        return self._names[folder]


def _is_folder_without_manifest(folder: Path) -> bool:
    return _exists(folder / ".") and not _exists(folder / "package.xml")


def _is_folder(entry: os.DirEntry) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a symbolic link to itself
        return False


def _package_name(folder: Path) -> str | None:
    manifest = folder / "package.xml"
    if not _exists(manifest):
        return None
    try:
        name = parse_xml(manifest).root.findtext("name")
    except RobotDescriptionError:
        return None  # a broken manifest: not this package
    return (name or "").strip() or os.path.basename(os.path.abspath(folder))


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


def _resolved(path: Path) -> Path:
    """The path without symbolic links, whether it exists or not."""
    return Path(os.path.realpath(path))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long, or a folder that may not be read
        return False


def _similar(path: Path) -> Path | None:
    """A file or folder that exists, whose path differs in case and separators of words only.

    Such are meshes from Windows. Others, however similar, are the meshes of other links.
    """
    folder, rest = path, []
    while not _exists(folder):
        folder, rest = folder.parent, [folder.name, *rest]
    if folder == folder.parent:
        return None
    for name in rest:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return None
        close = [other for other in names if _plain(other) == _plain(name)]
        if not close:
            return None
        folder /= close[0]
    return folder


def _plain(name: str) -> str:
    return re.sub("[-_ ]", "", name).casefold()


def publishable(
    source: str | os.PathLike, package_dirs: Sequence[str | os.PathLike] = ()
) -> tuple[str, str]:
    """Return the URDF (path or text) as text, and the name of its root link.

    RViz knows neither the folder of the URDF nor ``package_dirs``: files that it could not find are
    named by their place, as file://. Files that are not found stay as they are.

    Raises RobotDescriptionError if it is not XML, or has no root link or several.
    """
    document = parse_xml(source)
    children = {child.get("link") for child in document.root.iterfind("joint/child")}
    names = [link.get("name") for link in document.root.iterfind("link")]
    roots = [name for name in names if name and name not in children]
    if len(roots) != 1:
        raise RobotDescriptionError(
            f"{document.name}: {len(roots)} root links, a robot has one"
            + (f": {', '.join(map(repr, roots))}" if roots else "")
        )
    finder = FileFinder(package_dirs, document.path)
    for element in document.root.iter("mesh", "texture"):
        uri = element.get("filename", "")
        try:
            path = finder.find(uri, "")
        except MeshError:
            continue
        if not uri.startswith("file:") and not _in_ament_index(uri, path):
            element.set("filename", Path(os.path.abspath(path)).as_uri())
    return etree.tostring(document.root, encoding="unicode"), roots[0]


def _in_ament_index(uri: str, path: Path) -> bool:
    """Whether RViz finds the file of a package:// URI where it was found here."""
    package = uri.removeprefix("package://").split("/")[0]
    shares = [prefix / "share" / package for prefix in _path_list("AMENT_PREFIX_PATH")]
    return uri.startswith("package://") and any(share in path.parents for share in shares)
