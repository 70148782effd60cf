# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a scene should hold, whichever robot it is around, and what of it is not watched."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from collision_monitor.errors import CollisionMonitorError, LiveSceneError
from collision_monitor.model.live_scene import CLOUD, LiveScene
from collision_monitor.robot.description import Shape

_SHOWN = 3  # reasons that are given; of the others their number
_MOST_REFUSED = 1000
_MOST_WISHES = 5000  # more than any scene has room for


@dataclass(frozen=True, eq=False)
class Wish:
    """An object that somebody wants; fields as of `LiveScene.add`.

    ``link`` may be any frame that the keeper can find. Without a shape it is to come. ``source`` is
    what it came as, for those who want to say it again.
    """

    name: str
    shape: Shape | np.ndarray | None
    link: str
    pose: np.ndarray
    touch: frozenset[str] = frozenset()
    expires: float = math.inf
    source: Any = None


class SceneKeeper:
    """Holds what was asked for, and gives it to the live scene of whatever robot is watched.

    What cannot be taken over is not forgotten: it is a fault until it is asked for again, taken
    back, or expires. What was there under its name is there meanwhile, for the next robot as well.

    Attributes:
        live: the scene of the robot that is watched; None before any.
        find: of a frame the link it is fixed to, and its pose (4, 4) there; None: frames are links.
        wishes: by name.
        refused: why an object is not watched, and until when that counts; by name.
    """

    def __init__(self, find: Callable[[str], tuple[str, np.ndarray]] | None = None) -> None:
        """Nothing is wanted."""
        self.find = find
        self.live: LiveScene | None = None
        self.wishes: dict[str, Wish] = {}
        self.refused: dict[str, tuple[str, float]] = {}
        self._held: dict[str, Wish] = {}  # what is there though something else is wanted
        self._waiting: dict[str, tuple[str, Collection[str]]] = {}  # what is to be attached
        # Refusals that another robot, or leaves that come, may mend; and those of attaching.
        self._by_robot: set[str] = set()
        self._of_attaching: set[str] = set()
        self._fault = ""
        self._ends = math.inf  # when something that is refused expires

    def attend(self, live: LiveScene | None) -> None:
        """From now on it is this scene; all that is wanted is put into it."""
        before = set() if self.live is None else set(self.live.objects)
        self.live = live
        if live is None:
            return

        def comes_late(wish: Wish) -> tuple[bool, bool]:
            """What was there comes first: what was not may not take its room."""
            name = wish.name
            was_there = name in before and self._held.get(name, wish) is wish
            return not was_there, name in self.refused

        for wish in sorted([*self._held.values(), *self.wishes.values()], key=comes_late):
            self._take(wish, False)

    def want(self, wish: Wish) -> bool:
        """Put an object in, in place of one of that name; whether that could be done."""
        name = wish.name
        if name not in self.wishes and len(self.wishes) >= _MOST_WISHES:
            self.refuse(name, f"more than {_MOST_WISHES} objects are wanted", wish.expires)
            return False
        before = self.wishes.get(name)
        if before is not None:  # else it comes only now though a link is to carry it already
            self._waiting.pop(name, None)
        if before is not None and self._is_there(before):
            self._held.setdefault(name, before)
        self.wishes[name] = wish
        return self._take(wish, True)

    def _is_there(self, wish: Wish) -> bool:
        if wish.shape is None or wish.name in self._by_robot:
            return False
        return self.live is None or wish.name in self.live.objects

    def fill(self, name: str, rows: np.ndarray) -> bool:
        """Give an object leaves that were to come; whether that could be done."""
        if name not in self.wishes:
            return False
        self.wishes[name] = replace(self.wishes[name], shape=rows)
        return self._take(self.wishes[name], False)

    def _take(self, wish: Wish, is_new: bool) -> bool:
        """``is_new``: whether somebody has just asked, so that what was wrong before is past."""
        name = wish.name
        if wish.shape is None:
            self._refuse_by_robot(name, "its mesh is being loaded", wish.expires, is_new)
            return False
        if self.live is None:
            return True
        try:
            link, pose = wish.link, wish.pose
            if self.find is not None:
                link, frame = self.find(link)
                pose = frame @ pose
            self.live.add(name, wish.shape, link, pose, wish.touch, wish.expires)
        except LiveSceneError as error:
            why = str(error).removeprefix(f"{name}: ")
            self._refuse_by_robot(name, why, wish.expires, is_new)
            return False
        if wish is not self.wishes.get(name):
            return True  # something else is wanted
        self._held.pop(name, None)
        if is_new or name in self._by_robot:
            self.forgive(name)
        if name in self._waiting:
            self._wait(name, *self._waiting[name])
        return True

    def _refuse_by_robot(self, name: str, why: str, expires: float, is_new: bool) -> None:
        mendable = self._by_robot | self._of_attaching
        if is_new or name not in self.refused or name in mendable:
            self.refuse(name, why, expires)
            self._by_robot.add(name)

    def refuse(self, name: str, why: str, expires: float = math.inf) -> None:
        """Note that an object is not watched; one of that name that was before still is."""
        if name not in self.refused and len(self.refused) >= _MOST_REFUSED:
            name, why, expires = "...", f"more than {_MOST_REFUSED} objects", math.inf
        self._by_robot.discard(name)
        self._of_attaching.discard(name)
        self.refused[name] = why, expires
        self._ends = min(self._ends, expires)
        self._say()

    def refuse_attaching(self, name: str, why: str, expires: float = math.inf) -> None:
        """Note that a link does not carry what it should; what is wrong beside that stays said."""
        if name not in self.refused or name in self._of_attaching:
            self.refuse(name, why, expires)
            self._of_attaching.add(name)

    def forgive(self, name: str) -> None:
        """Forget what was wrong with an object."""
        self._by_robot.discard(name)
        self._of_attaching.discard(name)
        if self.refused.pop(name, None) is not None:
            self._say()

    def drop(self, name: str) -> None:
        """Take an object out, and forget what was wrong with it."""
        self.wishes.pop(name, None)
        self._held.pop(name, None)
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

        ``q``: None where it is not known; `retry` does it when it is, and what is to carry has
        come.
        """
        self._waiting.pop(name, None)
        if name not in self.wishes:
            self._wait(name, link, touch)
            return False
        wish = self._held.get(name, self.wishes[name])
        if self.live is None or q is None or self.wishes[name].shape is None:
            self._wait(name, link, touch)
            return False
        try:
            self.live.attach(name, link, q, touch)
        except CollisionMonitorError as error:
            self.refuse_attaching(name, str(error).removeprefix(f"{name}: "), wish.expires)
            return False
        thing = self.live.objects[name]
        carried = replace(
            wish, shape=thing.rows if thing.shape is None else thing.shape, link=link,
            pose=thing.pose, touch=frozenset(touch),
        )  # fmt: skip
        if name in self._held:
            self._held[name] = carried
        else:
            self.wishes[name] = carried
        if name in self._of_attaching:
            self.forgive(name)
        return True

    def _wait(self, name: str, link: str, touch: Collection[str]) -> None:
        what, expires = "there is no such object", math.inf
        if (wish := self.wishes.get(name)) is not None:
            what = "the pose of the robot is unknown"
            if wish.shape is None:
                what = "its mesh is being loaded"
            expires = wish.expires
        self.refuse_attaching(name, f"to be attached to {link!r}, but {what}", expires)
        if name in self.refused:  # else there are too many of them
            self._waiting[name] = link, touch

    def retry(self, q: np.ndarray | None) -> None:
        """Attach what could not be as long as it was not known where the robot is."""
        if self.live is not None and q is not None:
            for name, (link, touch) in list(self._waiting.items()):
                self.attach(name, link, q, touch)

    def detach(self, name: str, q: np.ndarray | None) -> bool:
        """Leave what is carried where it is at ``q``; whether that could be done.

        What is only to be attached stays where it is.
        """
        if self._waiting.pop(name, None) is not None and name not in self.carried():
            if name in self._of_attaching:
                self.forgive(name)
            return True
        root = "" if self.live is None else self.live.model.root
        return self.attach(name, root, q)

    def is_carried(self, name: str) -> bool:
        """Whether a link that moves carries it, or is to."""
        return name in self._waiting or name in self.carried()

    def detach_all(self, q: np.ndarray | None) -> None:
        """Leave all that is carried where it is at ``q``."""
        for name in {*self.carried(), *self._waiting}:
            self.detach(name, q)

    def carried(self) -> list[str]:
        """Names of all objects on links that move."""
        things: Iterable = () if self.live is None else self.live.objects.values()
        return [thing.name for thing in things if thing.body > 0]

    def expire(self, now: float) -> None:
        """Forget what has expired at ``now``."""
        if now >= self._ends:
            for name in [name for name, (_, end) in self.refused.items() if end <= now]:
                self.forgive(name)
                self._look_again(name, now)
            self._ends = min((end for _, end in self.refused.values()), default=math.inf)
            self._say()
        if self.live is not None:
            self.live.expire(now)

    def _look_again(self, name: str, now: float) -> None:
        """What was refused has expired: whether what is wanted beside it is there."""
        wish = self.wishes.get(name)
        if wish is not None and wish.expires <= now:
            return
        is_there = self.live is None or name in self.live.objects
        if wish is not None and (name in self._held or wish.shape is None or not is_there):
            self._take(wish, True)
        elif name in self._waiting:
            self._wait(name, *self._waiting[name])

    def postpone(self, seconds: float) -> None:
        """Let everything that will expire do so that much later."""
        for wishes in (self.wishes, self._held):
            for name, wish in wishes.items():
                if math.isfinite(wish.expires):
                    wishes[name] = replace(wish, expires=wish.expires + seconds)
        for name, (why, end) in self.refused.items():
            self.refused[name] = why, end + seconds
        self._ends += seconds
        if self.live is not None:
            self.live.postpone(seconds)

    def tidy(self, now: float) -> None:
        """Forget wishes that have expired; not needed at every joint state."""
        for name in [name for name, wish in self._held.items() if wish.expires <= now]:
            del self._held[name]
        for name in [name for name, wish in self.wishes.items() if wish.expires <= now]:
            del self.wishes[name]
            self._waiting.pop(name, None)
            if name in self._held:  # what is there goes on being wanted
                self.wishes[name] = self._held.pop(name)
                self._look_again(name, now)

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
