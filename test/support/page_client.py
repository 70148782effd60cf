# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A client of the page without a browser: it keeps what is shown, and acts as a user does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import viser
import zstandard
from websockets.sync.client import ClientConnection, connect

_CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (3.0, 0.0, 0.0),
    "fov": 0.8, "near": 0.01, "far": 100.0, "image_height": 480, "image_width": 640,
    "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
}  # fmt: skip
_PLACE = {"position": (0.0, 0.0, 0.0), "wxyz": (1.0, 0.0, 0.0, 0.0), "visible": True}
_SECONDS = 60.0  # of patience


def connection(url: str, **more: Any) -> ClientConnection:
    """A web socket to the page at ``url``, as a browser opens it."""
    return connect(
        url.replace("http:", "ws:"), subprotocols=[f"viser-v{viser.__version__}"],
        max_size=None, open_timeout=10.0, **more,
    )  # fmt: skip


class PageClient:
    """What a browser shows of a page, from the messages that it gets.

    Attributes:
        nodes: properties of the nodes of the 3D scene, by their paths.
        controls: properties of what is in the panel, by their identifiers.
        camera: the first ``position``, ``look_at`` and ``fov``.
    """

    def __init__(self, url: str) -> None:
        """``url``: of the page."""
        self.nodes: dict[str, dict[str, Any]] = {}
        self.controls: dict[str, dict[str, Any]] = {}
        self.camera: dict[str, Any] = {}
        self._is_complete = False
        self._socket = connection(url)
        self._send(_CAMERA)  # a client counts from its first camera on
        self.until(lambda: self._is_complete)

    def __enter__(self) -> PageClient:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the page."""
        self._socket.close()

    # -- what is shown --

    @property
    def status(self) -> str:
        """The head of the page, HTML."""
        return next((one["content"] for one in self.controls.values() if "content" in one), "")

    def control(self, label: str) -> dict[str, Any]:
        """The properties of the slider, button, menu or box with a label."""
        return self.controls[self._identifier(label)]

    def chart(self, curve: str) -> dict[str, Any]:
        """The properties of the chart that has a curve of this name."""
        return next(
            each for each in self.controls.values()
            if any(one["label"] == curve for one in each.get("series", ()))
        )  # fmt: skip

    def until(self, holds: Callable[[], Any], turn: Callable[[], object] = lambda: None) -> None:
        """Wait until something holds; ``turn``, a turn of the loop, is repeated meanwhile."""
        end = time.monotonic() + _SECONDS
        while True:
            turn()
            # More may have come together; but a page that moves never pauses.
            for _ in range(5):
                if not self._receive():
                    break
            if holds():
                return
            assert time.monotonic() < end, f"after {_SECONDS:.0f} s it shows {self.status}"

    # -- what a user does --

    def set(self, label: str, value: Any) -> None:
        """Give a slider, a menu or a box another value."""
        uuid = self._identifier(label)
        self.controls[uuid]["value"] = value
        self._send({"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}})

    def click(self, label: str) -> None:
        """Click a button."""
        self._send(
            {"type": "GuiUpdateMessage", "uuid": self._identifier(label),
             "updates": {"value": True}}
        )  # fmt: skip

    def drag(self, path: str, position: Any, wxyz: Any = (1.0, 0.0, 0.0, 0.0)) -> None:
        """Drag the handles at a path to a pose in the frame of their parent."""
        self._send(
            {"type": "TransformControlsUpdateMessage", "name": path,
             "position": tuple(map(float, position)), "wxyz": wxyz}
        )  # fmt: skip

    # -- messages --

    def _identifier(self, label: str) -> str:
        return next(uuid for uuid, each in self.controls.items() if each.get("label") == label)

    def _send(self, message: dict[str, Any]) -> None:
        self._socket.send(msgspec.msgpack.encode(message))

    def _receive(self) -> bool:
        """Take the next group of messages, if one arrives soon."""
        try:
            data = self._socket.recv(timeout=0.02)
        except TimeoutError:
            return False
        for message in unpacked(data):
            self._apply(message)
        return True

    def _apply(self, message: dict[str, Any]) -> None:
        kind, name, uuid = message["type"], message.get("name"), message.get("uuid")
        if kind == "ReplayDoneMessage":
            self._is_complete = True
        elif kind.startswith("SetCamera"):
            keys = ("fov", "look_at", "position")
            if kind != "SetCameraUpDirectionMessage":
                self.camera |= {key: message[key] for key in keys if key in message}
        elif kind == "RemoveSceneNodeMessage":
            for path in [one for one in self.nodes if f"{one}/".startswith(f"{name}/")]:
                del self.nodes[path]
        elif kind == "GuiRemoveMessage":
            self.controls.pop(uuid, None)
        elif "props" in message and name is not None:
            self.nodes[name] = _PLACE | message["props"]
        elif "props" in message:
            self.controls[uuid] = message["props"] | {"value": message.get("value")}
        elif kind == "GuiUpdateMessage" and uuid in self.controls:
            self.controls[uuid] |= message["updates"]
        elif name in self.nodes:
            keys = ("position", "wxyz", "visible")
            self.nodes[name] |= {key: message[key] for key in keys if key in message}
            self.nodes[name] |= message.get("updates", {})


def unpacked(data: bytes) -> list[dict[str, Any]]:
    """The messages of a group from the server; arrays follow the compressed part."""
    size = int.from_bytes(data[8:16], "little")
    group = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(data[16 : 16 + size]))
    arrays, begin = [], 16 + size
    for length in group["binaryBufferLengths"]:
        begin += -begin % 8
        arrays.append(data[begin : begin + length])
        begin += length

    def with_arrays(value: Any) -> Any:
        if isinstance(value, dict):
            if "__binary_index" in value:
                return np.frombuffer(arrays[value["__binary_index"]], dtype=value["dtype"])
            return {key: with_arrays(each) for key, each in value.items()}
        return [with_arrays(each) for each in value] if isinstance(value, list) else value

    return with_arrays(group["messages"])
