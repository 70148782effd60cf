# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the tests of launch files share; without ROS 2's launch they are skipped."""

import os
import stat

import pytest

pytest.importorskip("launch_pytest", reason="ROS 2's launch is not installed")
pytest.importorskip("launch_ros", reason="ROS 2's launch_ros is not installed")

from launch import LaunchContext, LaunchDescription  # noqa: E402
from launch.actions import IncludeLaunchDescription, RegisterEventHandler  # noqa: E402
from launch.event_handlers import OnProcessExit  # noqa: E402
from launch.launch_description_sources import PythonLaunchDescriptionSource  # noqa: E402

# Writes down its arguments, and the parameters that come in files.
STAND_IN = """#!/bin/sh
name="$TOLD/$(basename "$0")"
for word in "$@"; do [ -f "$word" ] && cat "$word"; done > "$name.parameters"
printf '%s\\n' "$@" > "$name.new"
mv "$name.new" "$name"
exit 0
"""


def stand_in(prefix, package, executables):
    """A package in an ament prefix, with programs that only write down what they are told."""
    index = prefix / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True, exist_ok=True)
    (index / package).touch()
    (prefix / "share" / package).mkdir(parents=True)
    for name in executables:
        path = prefix / "lib" / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STAND_IN)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


def told(folder, name):
    """The arguments of a stand-in, once it has been started."""
    path = folder / name
    return path.read_text().splitlines() if path.exists() else None


def installed(workspace, monkeypatch, name):
    """The launch file of the built workspace; its environment is that of this process too."""
    for variable, value in workspace.environment.items():
        monkeypatch.setenv(variable, value)
    return PythonLaunchDescriptionSource(os.fspath(workspace.share / "launch" / name))


def launched(source, exits, **arguments):
    """The launch file with these arguments; exit codes of its processes come into ``exits``."""
    ended = OnProcessExit(on_exit=lambda event, _: exits.append(event.returncode))
    included = IncludeLaunchDescription(source, launch_arguments=arguments.items())
    return LaunchDescription([RegisterEventHandler(ended), included])


def check_refused(source, says, **arguments):
    """With these arguments nothing is started, and the error says why."""
    context = LaunchContext()
    context.launch_configurations.update(arguments)
    with pytest.raises((OSError, ValueError), match=says):
        for entity in source.get_launch_description(context).entities:
            entity.visit(context)
