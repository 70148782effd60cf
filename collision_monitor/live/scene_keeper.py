# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a scene should hold, whichever robot it is around, and what of it is not watched."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np

from collision_monitor.errors import CollisionMonitorError, LiveSceneError
from collision_monitor.live.live_scene import CLOUD, LiveScene
from collision_monitor.robot.description import Shape

_SHOWN = 3  # reasons that are given; of the others their number
_MOST_REFUSED = 1000


@dataclass(frozen=True, eq=False)
class Wish:
    """An object that somebody wants; fields as of `LiveScene.add`.

    ``link`` may be any frame that the keeper can find. Without a shape it is to come.
    """

    name: str
    shape: Shape | np.ndarray | None
    link: str
    pose: np.ndarray
    touch: frozenset[str] = frozenset()
    expires: float = math.inf


class SceneKeeper:
    """Holds what was asked for, and gives it to the live scene of whatever robot is watched.

    What cannot be taken over is not forgotten: it is a fault until it is asked for again, taken
    back, or expires.

    Attributes:
        live: the scene of the robot that is watched; None before any.
        wishes: by name.
        refused: why an object is not watched, and until when that counts; by name.
    """

    def __init__(self, find: Callable[[str], tuple[str, np.ndarray]] | None = None) -> None:
        """``find``: of a frame the link it is fixed to, and its pose (4, 4) there."""
        self._find = find
        self.live: LiveScene | None = None
        self.wishes: dict[str, Wish] = {}
        self.refused: dict[str, tuple[str, float]] = {}
        self._waiting: dict[str, tuple[str, Collection[str]]] = {}  # what is to be attached
        self._misfits: set[str] = set()  # refused for the robot that is watched: another may do
        self._fault = ""
        self._ends = math.inf  # when something that is refused expires

    def attend(self, live: LiveScene | None) -> None:
        """From now on it is this scene; all that is wanted is put into it."""
        self.live = live
        if live is None:
            return
        for wish in list(self.wishes.values()):
            refused = self.refused.get(wish.name)
            is_misfit = wish.name in self._misfits
            self._take(wish)
            if refused is not None and not is_misfit:
                # What was refused is another one than the one that has been kept since.
                self.refuse(wish.name, *refused)

    def want(self, wish: Wish) -> bool:
        """Put an object in, in place of one of that name; whether that could be done."""
        self.wishes[wish.name] = wish
        return self._take(wish)

    def _take(self, wish: Wish) -> bool:
        if wish.shape is None:
            self.refuse(wish.name, "its mesh is being loaded", wish.expires)
            return False
        if self.live is None:
            return True
        try:
            link, pose = wish.link, wish.pose
            if self._find is not None:
                link, frame = self._find(link)
                pose = frame @ pose
            self.live.add(wish.name, wish.shape, link, pose, wish.touch, wish.expires)
        except LiveSceneError as error:
            self.refuse(wish.name, str(error).removeprefix(f"{wish.name}: "), wish.expires)
            self._misfits.add(wish.name)
            return False
        self.forgive(wish.name)
        return True

    def refuse(self, name: str, why: str, expires: float = math.inf) -> None:
        """Note that an object is not watched; one of that name that was before still is."""
        if name not in self.refused and len(self.refused) >= _MOST_REFUSED:
            name, why, expires = "...", f"more than {_MOST_REFUSED} objects", math.inf
        self.refused[name] = why, expires
        self._misfits.discard(name)
        self._ends = min(self._ends, expires)
        self._say()

    def forgive(self, name: str) -> None:
        """Forget what was wrong with an object."""
        if self.refused.pop(name, None) is not None:
            self._say()

    def drop(self, name: str) -> None:
        """Take an object out, and forget what was wrong with it."""
        self.wishes.pop(name, None)
        self._waiting.pop(name, None)
        self.forgive(name)
        if self.live is not None:
            self.live.remove(name)

    def drop_all(self, is_meant: Callable[[str], bool] = lambda name: True) -> None:
        """Take out all objects whose name ``is_meant``, but for the cloud."""
        for name in [*self.wishes, *self.refused]:
            if name != CLOUD and is_meant(name):
                self.drop(name)
        if not (self.refused.keys() - {"..."}):
            self.forgive("...")

    def attach(
        self, name: str, link: str, q: np.ndarray | None, touch: Collection[str] = ()
    ) -> bool:
        """Let a link carry what is there, from where it is at ``q`` on; whether that could be done.

        ``q``: None where it is not known; `retry` does it when it is.
        """
        if name not in self.wishes:
            self.refuse(name, f"to be attached to {link!r}, but there is no such object")
            return False
        wish = self.wishes[name]
        self._waiting.pop(name, None)
        if self.live is None or q is None:
            self._waiting[name] = link, touch
            self.refuse(name, f"to be attached to {link!r}, but it is not known where the robot is")
            return False
        try:
            self.live.attach(name, link, q, touch)
        except CollisionMonitorError as error:
            self.refuse(name, str(error).removeprefix(f"{name}: "), wish.expires)
            return False
        thing = self.live.objects[name]
        self.wishes[name] = replace(
            wish, shape=thing.rows, link=link, pose=thing.pose, touch=frozenset(touch)
        )
        self.forgive(name)
        return True

    def retry(self, q: np.ndarray | None) -> None:
        """Attach what could not be as long as it was not known where the robot is."""
        if self.live is not None and q is not None:
            for name, (link, touch) in list(self._waiting.items()):
                self.attach(name, link, q, touch)

    def detach(self, name: str, q: np.ndarray | None) -> bool:
        """Leave what is carried where it is at ``q``; whether that could be done."""
        root = "" if self.live is None else self.live.model.root
        return self.attach(name, root, q)

    def carried(self) -> list[str]:
        """Names of all objects on links that move."""
        things: Iterable = () if self.live is None else self.live.objects.values()
        return [thing.name for thing in things if thing.body > 0]

    def expire(self, now: float) -> None:
        """Forget what has expired at ``now``."""
        if now >= self._ends:
            for name in [name for name, (_, end) in self.refused.items() if end <= now]:
                del self.refused[name]
            self._ends = min((end for _, end in self.refused.values()), default=math.inf)
            self._say()
        if self.live is not None:
            self.live.expire(now)

    def tidy(self, now: float) -> None:
        """Forget wishes that have expired; not needed at every joint state."""
        for name in [name for name, wish in self.wishes.items() if wish.expires <= now]:
            del self.wishes[name]

    def fault(self, now: float) -> str:
        """What is not watched though somebody wants it, in one sentence; empty if all is."""
        if now >= self._ends:
            self.expire(now)
        return self._fault

    def _say(self) -> None:
        if not self.refused:
            self._fault = ""
            return
        shown = [f"{name}: {why}" for name, (why, _) in list(self.refused.items())[:_SHOWN]]
        more = len(self.refused) - len(shown)
        self._fault = f"scene refused: {'; '.join(shown)}" + (f"; {more} more" if more else "")
