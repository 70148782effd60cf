# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Soak test of a monitor with moving obstacles and many clients: faults, memory, distances.

    python benchmarks/soak.py [--minutes 5] [--rate 1000] [--scene-rate 200] [--seed 0] [--json]

A monitor in its own process receives joint states at a high rate (soaking/driver.py). Clients
subscribe and unsubscribe, set valid and invalid parameters, replace the description, also by
invalid ones, and change the scene many times a second: obstacles are added, moved, expired,
removed, attached and detached, and some must be refused (soaking/clients.py, obstacles.py). The
monitor records; an observer in another process compares its inputs and outputs with pinocchio and
coal (soaking/truth.py, scene.py). Everything runs on this machine, and ends by itself.

Faults, and exit code 1: the monitor ends or prints a traceback; a distance above the true one;
OK or WARN while the true distance is below 0.02 m, the minimum stop distance, or while an object of
the scene is refused; a pair with an unknown obstacle; a scene message or a description that was
sent but not processed. Exit code 2 without a fault, but with too few comparisons to tell. It also
reports the growth of memory in kB per minute after the first third, when the ring of the recording
is full, open files, and for how long the monitor has waited for a core.
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

from support.ros.ros_domains import Domain  # noqa: E402

_PAGE = os.sysconf("SC_PAGE_SIZE")
_LOADING_SECONDS = 240.0  # the first start of a monitor compiles
_CALM_SECONDS = 4.0
_LAST_SECONDS = 60.0  # until the silence at the end is a stop, and its file is written
_LEAST_COMPARED = 0.4  # minimum fraction of joint states: a loaded machine merges some
_LEAST_TAKEN = 0.5  # minimum fraction of valid descriptions: one may arrive while another is loaded


class Soak:
    """One run."""

    def __init__(self, options: argparse.Namespace, folder: Path, domain: Domain) -> None:
        self.options, self.folder = options, folder
        paths = [str(HERE.parent), str(HERE), os.environ.get("PYTHONPATH", "")]
        self.environment = {
            **domain.environment, "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONFAULTHANDLER": "1",  # a hanging process prints its stack when it is aborted
        }  # fmt: skip
        self.seconds = 60.0 * options.minutes
        # There is a contact in each period, and its file is at most one and a half periods later:
        # longer recordings overlap, so that nothing is missing.
        self.period = min(20.0, self.seconds / 3.0)
        # Much longer, since something may be wrong all the time; all of it where that is short.
        self.recorded = 3.0 * self.period if self.seconds > 60.0 else self.seconds + 120.0
        # Seconds, kB, files, and seconds in which the monitor worked and waited for a core.
        self.memory: list[tuple[float, float, int, float, float]] = []
        self.faults: list[str] = []
        self.weak: list[str] = []  # why so little was compared
        self.seen: dict = {}
        self._seen: set[int] = set()
        self._kept: list[str] = []

    def start(self, *command: str, log: str) -> subprocess.Popen:
        """Start a process whose output goes to a file of the folder."""
        with (self.folder / log).open("wb") as file:
            return subprocess.Popen(
                [sys.executable, *command], env=self.environment, cwd=HERE,
                stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT,
                start_new_session=True, text=True,
            )  # fmt: skip

    def run(self) -> dict:
        """Run everything; returns the results."""
        processes = []
        try:
            monitor = self.start(
                "-m", "collision_monitor.nodes.collision_monitor",
                *self._recording(), "--ros-args",
                "-p", f"record_seconds:={self.recorded}",
                "-p", f"record_after:={self.period / 2.0}",
                "-p", "record_files:=4", "-p", "record_megabytes:=1000",
                log="monitor.log",
            )  # fmt: skip
            processes.append(monitor)
            common = ("--seconds", str(self.seconds), "--seed", str(self.options.seed))
            # Loading takes seconds of a core.
            description_period = min(15.0, self.seconds / 3.0)
            clients = self.start(
                "-m", "soaking.clients", *common, "--description-period", str(description_period),
                "--scene-rate", str(self.options.scene_rate), log="clients.log",
            )  # fmt: skip
            processes.append(clients)
            self._until(monitor, "monitor.log", "monitoring 'soak_")
            driver = self.start(
                "-m", "soaking.driver", "--seed", str(self.options.seed), "--rate",
                str(self.options.rate), "--period", str(self.period), log="driver.log",
            )  # fmt: skip
            processes.append(driver)
            self._until(monitor, "driver.log", "sending")
            clients.stdin.close()
            self._watch(monitor, clients)
            # The robot is out of contact, and the scene is empty: the silence that follows is
            # another stop, whose recording continues to the end.
            time.sleep(_CALM_SECONDS)
            driver.stdin.close()
            for process in (clients, driver):
                process.wait(60.0)
            self._await_last_recording()
            self._end(monitor)
            if not self.options.without_recording:
                # Not before: the computation would take processor time from the tested processes.
                observer = self.start("-m", "soaking.truth", log="observer.log")
                processes.append(observer)
                self._observe(observer)
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        return self._summary()

    def _await_last_recording(self) -> None:
        """Wait for the file of the stop at the end, which covers all of it."""
        # Earlier files were started before everything had been received.
        begun = time.time() + min(8.0, self.period / 2.0)
        end = time.monotonic() + _LAST_SECONDS
        while not self.options.without_recording and time.monotonic() < end:
            self._keep_recordings()
            if any(Path(path).stat().st_mtime > begun for path in self._kept):
                return
            time.sleep(0.5)

    def _end(self, monitor: subprocess.Popen) -> None:
        monitor.send_signal(signal.SIGINT)
        try:
            code = monitor.wait(60.0)
        except subprocess.TimeoutExpired:
            monitor.send_signal(signal.SIGABRT)
            monitor.wait(10.0)
            said = self._log("monitor.log").partition("Fatal Python error")[2]
            self.faults.append(f"the monitor did not end within 60 s of SIGINT: {said[:3000]}")
            return
        if code and not self.faults:
            self.faults.append(f"the monitor ended with code {code}")

    def _observe(self, observer: subprocess.Popen) -> None:
        self._keep_recordings()
        observer.communicate("\n".join(self._kept), 300.0 + 20.0 * self.seconds)
        said = self._log("observer.log")
        if observer.returncode:
            self.faults.append(f"the observer failed: {said[-1000:]}")
        else:
            self.seen = json.loads(said.splitlines()[-1])

    def _recording(self) -> list[str]:
        if self.options.without_recording:
            return []
        return ["--record", str(self.folder / "soak.mcap")]

    def _until(self, monitor: subprocess.Popen, log: str, text: str) -> None:
        """Wait until a log has this text."""
        end = time.monotonic() + _LOADING_SECONDS
        while text not in self._log(log):
            if time.monotonic() > end or monitor.poll() is not None:
                said = self._log("monitor.log")[-2000:]
                raise TimeoutError(f"no {text!r} in {log}; the monitor said: {said}")
            time.sleep(0.2)

    def _log(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8", errors="replace")

    def _watch(self, monitor: subprocess.Popen, clients: subprocess.Popen) -> None:
        """Wait until the clients have ended."""
        begin = time.monotonic()
        while clients.poll() is None:
            now = time.monotonic() - begin
            if now > self.seconds + 180.0:
                self.faults.append("the clients did not end in time")
                return
            if monitor.poll() is not None:
                self.faults.append(f"the monitor ended with code {monitor.returncode}")
                return
            pages = int(Path(f"/proc/{monitor.pid}/statm").read_text().split()[1])
            files = len(os.listdir(f"/proc/{monitor.pid}/fd"))
            ticks = Path(f"/proc/{monitor.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            worked = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
            waited = Path(f"/proc/{monitor.pid}/schedstat").read_text().split()[1]
            self.memory.append((now, pages * _PAGE / 1024.0, files, worked, 1e-9 * int(waited)))
            self._keep_recordings()
            time.sleep(min(1.0, self.seconds / 60.0))

    def _keep_recordings(self) -> None:
        """Rename new recordings: the monitor removes its oldest, and reuses names."""
        files = {path.stat().st_ino: path for path in self.folder.glob("soak*.mcap")}
        new = [number for number in files if number not in self._seen]
        for number in sorted(new, key=lambda number: files[number].stat().st_mtime):
            self._seen.add(number)
            self._kept.append(str(self.folder / f"kept_{len(self._kept)}.mcap"))
            os.link(files[number], self._kept[-1])

    def _summary(self) -> dict:
        log = self._log("monitor.log")
        if "Traceback" in log:
            self.faults.append(f"a traceback: {log[log.index('Traceback'):][:2000]}")
        said = self._log("clients.log").splitlines()
        sent = self._log("driver.log").split()
        if not said or not sent:
            self.faults.append("clients or driver failed: " + " ".join((*said, *sent))[-1000:])
        clients = json.loads(said[-1]) if said and said[-1].startswith("{") else {}
        self._judge(clients)
        table = np.array(self.memory or [(0.0, 0.0, 0, 0.0, 0.0)])
        late = table[table[:, 0] >= self.seconds / 3.0]
        slope = float(np.polyfit(late[:, 0], late[:, 1], 1)[0] * 60.0) if len(late) > 2 else None
        seconds = table[-1, 0] - table[0, 0]
        return {
            "seconds": self.seconds,
            "joint_states_sent": int(sent[-1]) if sent and sent[-1].isdigit() else 0,
            "scene_messages_sent": clients.get("scene", 0) + clients.get("attach", 0),
            "clients": clients,
            "observer": self.seen,
            "memory_mb": (table[:: max(len(table) // 10, 1), 1] / 1024.0).round(1).tolist(),
            "memory_kb_per_minute": slope,
            "open_files": [int(table[0, 2]), int(table[-1, 2])],
            "core_share": float((table[-1, 3] - table[0, 3]) / seconds) if seconds > 0.0 else None,
            "waited_for_a_core_s": float(table[-1, 4] - table[0, 4]),
            "weak": self.weak,
            "faults": self.faults,
        }

    def _judge(self, clients: dict) -> None:
        """Results of the observer, and whether it has compared enough."""
        seen = self.seen
        if self.options.without_recording or not seen:
            return
        self.faults += seen["faults"]
        heard, compared = seen.get("joint_states", 0), seen.get("distances", 0)
        if not compared or compared < _LEAST_COMPARED * heard:
            self.weak.append(f"only {compared} distances for {heard} joint states")
        for what in ("below_stop", "objects_below_stop", "alarms", "calm_states", "pairs_checked"):
            if not seen.get(what):
                self.weak.append(f"nothing to be seen: {what} is 0")
        for topic in ("scene", "attach"):
            if seen.get(topic, 0) != clients.get(topic):
                self.faults.append(
                    f"{topic}: {clients.get(topic)} messages sent, {seen.get(topic, 0)} heard"
                )
        if len(seen["robots"]) < 2:
            self.faults.append("there was no swap")
        if len(seen["robots"]) < _LEAST_TAKEN * clients.get("good descriptions", 0):
            self.faults.append(f"only {len(seen['robots'])} of the good descriptions were taken")


def main() -> int:
    """Run the test and print its results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--rate", type=float, default=1000.0, help="joint states a second")
    parser.add_argument("--scene-rate", type=float, default=200.0, help="changes a second")
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
            results = Soak(options, folder, domain).run()
    finally:
        if options.keep:
            print(f"logs: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        for key, value in results.items():
            print(f"{key.replace('_', ' '):36s}{value}")
    if results["faults"]:
        return 1
    return 2 if results["weak"] else 0


if __name__ == "__main__":
    sys.exit(main())
