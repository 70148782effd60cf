# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The server of the page: quiet, on one address, and with no way out of this machine."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from collision_monitor.errors import ViewError
from collision_monitor.viewer.address import Address
from collision_monitor.viewer.needs_viser import viser_library


def start_server(address: Address, title: str) -> Any:
    """A viser server that listens at ``address``.

    Raises:
        MissingDependencyError: viser is not installed.
        ViewError: somebody took the port meanwhile.
    """
    viser = viser_library()

    class LocalServer(viser.ViserServer):
        """Without the share links by which any browser could have this page sent to the web."""

        def request_share_url(self, verbose: bool = True) -> None:
            return None

    with redirect_stdout(io.StringIO()):  # its banner: what there is to say our caller says
        server = LocalServer(address.host, address.port, label=title, verbose=False)
    if server.get_port() != address.port:  # it tries the next ones without a word
        stop_server(server)
        raise ViewError(
            f"port {address.port} of {address.host} is taken: choose another, or 0 for any that "
            "is free"
        )
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(380.0)
    return server


def stop_server(server: Any) -> None:
    """End it; browsers say that the connection is gone."""
    with redirect_stdout(io.StringIO()):
        server.stop()


def aim_camera(server: Any, points: np.ndarray) -> None:
    """Let the page begin with all ``points`` (n, 3) in view, from the front and above."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * (low + high)
    reach = max(0.5 * float(np.linalg.norm(high - low)), 0.1)
    direction = np.array([1.6, 0.9, 0.7]) / np.linalg.norm([1.6, 0.9, 0.7])
    field = np.radians(45.0)
    camera = server.initial_camera
    camera.fov = field
    camera.look_at = middle
    camera.position = middle + direction * reach / np.sin(0.5 * field)
