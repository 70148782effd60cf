# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A monitor for minutes among restless neighbours: does it ever fail, grow, or say too much?

    python benchmarks/soak.py [--minutes 5] [--rate 1000] [--seed 0] [--json]

One monitor in a process of its own hears joint states at a high rate (soak_driver.py), while
others listen and leave, set parameters, valid and not, replace the description, also by broken
ones, and change the scene 200 times a second where the monitor listens to ``~/scene``
(soak_clients.py). It records; what it heard and said is compared with pinocchio and
coal by an observer in a process of its own (soak_truth.py). All stays on this machine and ends by
itself.

Faults, and exit code 1: the monitor ends or prints a traceback; a distance above the true one;
OK or WARN while the true distance is below 0.02 m, the least stop distance that is ever set;
too little was compared to say so. Told besides: memory in kB a minute after the first third,
when the ring of the recording is full, and open files.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "test")]

from ros_domains import Domain  # noqa: E402

_PAGE = os.sysconf("SC_PAGE_SIZE")
_LOADING_SECONDS = 240.0  # a monitor that starts for the first time compiles
_LEAST_COMPARED = 0.4  # of the joint states heard: none is answered while a robot is loaded


class Soak:
    """One run."""

    def __init__(self, options: argparse.Namespace, folder: Path, domain: Domain) -> None:
        self.options, self.folder = options, folder
        paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
        self.environment = {
            **domain.environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))
        }
        self.seconds = 60.0 * options.minutes
        # Contact once a period, and a file of it half a period later at most one and a half:
        # recordings that go back further than that overlap, so that nothing is missing.
        self.period = min(20.0, self.seconds / 3.0)
        self.memory: list[tuple[float, float, int]] = []  # seconds, kB, open files
        self.seen: list[dict] = []
        self.faults: list[str] = []
        self._observers: list[subprocess.Popen] = []
        self._observed: set[Path] = set()

    def start(self, *command: str, log: str) -> subprocess.Popen:
        """A process whose output goes to a file of the folder."""
        with (self.folder / log).open("wb") as file:
            return subprocess.Popen(
                [sys.executable, *command], env=self.environment, cwd=HERE, stdout=file,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def run(self) -> dict:
        """Everything; what was found."""
        processes = []
        try:
            monitor = self.start(
                "-m", "collision_monitor.nodes.collision_monitor",
                *self._recording(), "--ros-args",
                "-p", f"record_seconds:={self.period + 1.0}",
                "-p", f"record_after:={self.period / 2.0}",
                "-p", "record_files:=4",
                log="monitor.log",
            )  # fmt: skip
            processes.append(monitor)
            common = ("--seconds", str(self.seconds), "--seed", str(self.options.seed))
            description_period = max(3.0, self.period / 4.0)  # loading takes a second
            clients = self.start(
                "soak_clients.py", *common, "--description-period", str(description_period),
                log="clients.log",
            )
            processes.append(clients)
            self._until_loaded(monitor, clients)
            driver = self.start(
                "soak_driver.py", *common, "--rate", str(self.options.rate), "--period",
                str(self.period), log="driver.log",
            )
            processes.append(driver)
            self._watch(monitor, clients, driver)
            monitor.send_signal(signal.SIGINT)
            code = monitor.wait(90.0)
            if code and not self.faults:
                self.faults.append(f"the monitor ended with code {code}")
            for process in (clients, driver):
                process.wait(60.0)
            self._observe(self._files(), wait=True)
        finally:
            for process in (*processes, *self._observers):
                if process.poll() is None:
                    process.kill()
                    process.wait()
        return self._summary()

    def _recording(self) -> list[str]:
        if self.options.without_recording:
            return []
        return ["--record", str(self.folder / "soak.mcap")]

    def _until_loaded(self, monitor: subprocess.Popen, clients: subprocess.Popen) -> None:
        end = time.monotonic() + _LOADING_SECONDS
        while "monitoring 'soak_" not in self._log("monitor.log"):
            if time.monotonic() > end or monitor.poll() is not None:
                raise TimeoutError(f"no robot was loaded: {self._log('monitor.log')[-2000:]}")
            time.sleep(0.2)

    def _log(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8", errors="replace")

    def _files(self) -> list[Path]:
        there = [path for path in self.folder.glob("soak*.mcap") if path not in self._observed]
        return sorted(there, key=lambda path: path.stat().st_mtime)

    def _watch(self, monitor: subprocess.Popen, *others: subprocess.Popen) -> None:
        """Until the others have ended."""
        begin = time.monotonic()
        while any(process.poll() is None for process in others):
            now = time.monotonic() - begin
            if now > self.seconds + 60.0:
                self.faults.append("the others did not end in time")
                return
            if monitor.poll() is not None:
                self.faults.append(f"the monitor ended with code {monitor.returncode}")
                return
            pages = int(Path(f"/proc/{monitor.pid}/statm").read_text().split()[1])
            files = len(os.listdir(f"/proc/{monitor.pid}/fd"))
            self.memory.append((now, pages * _PAGE / 1024.0, files))
            self._observe(self._files())
            time.sleep(min(1.0, self.seconds / 60.0))

    def _observe(self, files: list[Path], wait: bool = False) -> None:
        """Let files be observed, one observer at a time unless the end is to be waited for."""
        self._collect(wait)
        if files and not self._observers:
            names = []
            for path in files:  # another name: the monitor removes its oldest recordings
                kept = self.folder / f"kept_{path.name}"
                os.link(path, kept)
                names.append(str(kept))
                self._observed.add(path)
            number = len(self._observed)
            after = max((seen.get("last", 0.0) for seen in self.seen), default=0.0)
            self._observers.append(
                self.start("soak_truth.py", str(after), *names, log=f"observer_{number}.log")
            )
            self._observers[-1].log, self._observers[-1].files = f"observer_{number}.log", names
            if wait:
                self._collect(wait)

    def _collect(self, wait: bool) -> None:
        for observer in list(self._observers):
            if wait:
                observer.wait(300.0)
            if observer.poll() is None:
                continue
            self._observers.remove(observer)
            if observer.returncode:
                self.faults.append(f"the observer failed: {self._log(observer.log)[-1000:]}")
            else:
                self.seen += map(json.loads, self._log(observer.log).splitlines())
            for name in observer.files:
                os.unlink(name)

    def _summary(self) -> dict:
        log = self._log("monitor.log")
        if "Traceback" in log:
            self.faults.append(f"a traceback: {log[log.index('Traceback'):][:2000]}")
        said = self._log("clients.log").splitlines()
        sent = self._log("driver.log").split()
        if not said or not sent:
            self.faults.append("clients or driver failed: " + " ".join((*said, *sent))[-1000:])
        for seen in self.seen:
            self.faults += [f"{seen['file']}: {fault}" for fault in seen["faults"][:5]]
        self.seen.sort(key=lambda seen: seen.get("first", 0.0))
        spans = [(seen["first"], seen["last"]) for seen in self.seen if "first" in seen]
        gaps = [b[0] - a[1] for a, b in zip(spans, spans[1:], strict=False)]
        compared = sum(seen["distances"] for seen in self.seen)
        heard = sum(seen["joint_states"] for seen in self.seen)
        if self.options.without_recording:
            pass
        elif not compared or compared < _LEAST_COMPARED * heard:
            self.faults.append(f"only {compared} distances for {heard} joint states")
        elif not sum(seen["below_stop"] for seen in self.seen):
            self.faults.append("the robot was never below its stop distance")
        table = np.array(self.memory or [(0.0, 0.0, 0)])
        late = table[table[:, 0] >= self.seconds / 3.0]
        slope = float(np.polyfit(late[:, 0], late[:, 1], 1)[0] * 60.0) if len(late) > 2 else None
        return {
            "seconds": self.seconds,
            "joint_states_sent": int(sent[0]) if sent and sent[0].isdigit() else 0,
            "joint_states_recorded": heard,
            "distances_compared": compared,
            "below_stop_distance": sum(seen["below_stop"] for seen in self.seen),
            "least_truth_minus_said_m": min((s["least_margin"] for s in self.seen), default=None),
            "recordings": len(self.seen),
            "longest_gap_between_recordings_s": max([0.0, *gaps]),
            "clients": json.loads(said[-1]) if said and said[-1].startswith("{") else {},
            "memory_mb": [float(table[0, 1]) / 1024.0, float(table[-1, 1]) / 1024.0],
            "memory_kb_per_minute": slope,
            "open_files": [int(table[0, 2]), int(table[-1, 2])],
            "faults": self.faults,
        }


def main() -> int:
    """Run it and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--rate", type=float, default=1000.0, help="joint states a second")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--without-recording", action="store_true",
        help="compare nothing: memory without the ring of the recording",
    )  # fmt: skip
    parser.add_argument("--keep", action="store_true", help="leave the logs where they are")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="collision_monitor_soak_"))
    try:
        with Domain() as domain:
            found = Soak(options, folder, domain).run()
    finally:
        if options.keep:
            print(f"logs: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        for key, value in found.items():
            print(f"{key.replace('_', ' '):36s}{value}")
    return 1 if found["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
