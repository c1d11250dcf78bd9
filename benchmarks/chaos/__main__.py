"""Do sweeps survive? `python -m benchmarks.chaos [--long] [--on workers|dir|ray ...] [--seed N]`.

A sweep of VerticalCAS while a random worker is killed again and again, the driver is killed once, the journal is torn
once, and a worker of another version joins. Then the same command goes on, and its rows are compared with those of one
process: none may be lost, none may differ. Short: a kill every four seconds and some hundred cells; --long: a kill
every ten seconds, and ten thousand cells. Ends with 1 if a row is lost or wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import setting

VCAS = Path(__file__).parent.parent.parent / "examples" / "vcas" / "vcas.toml"
SAME = ("parameters", "property", "formula", "verdict", "scope")
OTHER = """
import sys
from vernal.run import job_folder
job_folder.version = lambda: "9.9"
from vernal.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@dataclass(frozen=True)
class Storm:
    """How much is swept, and how much is damaged."""

    grid: tuple[str, ...]
    every: float  # seconds between two kills
    driver_after: float  # seconds until the driver is killed
    lease: float


SHORT = Storm(("--over", "v0=-30..-10..0.25", "--over", "k=1..4"), 4.0, 8.0, 2.0)
LONG = Storm(("--over", "v0=-30..-5..0.0125", "--over", "k=2..6"), 10.0, 60.0, 5.0)


@dataclass
class Run:
    """One sweep through the storm."""

    storm: Storm
    place: str
    folder: Path
    luck: random.Random
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)

    @property
    def command(self) -> list[str]:
        on = {"dir": f"dir:{self.folder / 'jobs'}"}.get(self.place, self.place)
        more = [] if self.place == "dir" else ["--workers", "2"]
        files = ["--journal", str(self.folder / "journal"), "--json", str(self.folder / "rows.json")]
        sweep = ["sweep", str(VCAS), "--property", "safe", *self.storm.grid, "--on", on, *more, *files, "--quiet"]
        return [sys.executable, "-m", "benchmarks.chaos.driver", str(self.storm.lease), *sweep]

    def go(self) -> list[dict[str, Any]]:
        self._drive(self.storm.driver_after)
        self._tear()
        self._drive(None)
        self._end_workers()
        rows: list[dict[str, Any]] = json.loads((self.folder / "rows.json").read_text())["rows"]
        return rows

    def _drive(self, limit: float | None) -> None:
        """Until the driver ends, or until its time has come, while its workers are killed one by one."""
        driver = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        began = last = time.monotonic()
        while driver.poll() is None:
            self._hire()
            time.sleep(0.05)
            now = time.monotonic()
            if limit is not None and now - began > limit and self._has_journal():
                driver.kill()
                driver.wait()
                self.kills["driver"] += 1
                return
            if now - last > self.storm.every:
                last = now
                self._kill(driver.pid)
        if driver.returncode not in (0, 5):
            raise SystemExit(f"the sweep ended with {driver.returncode}")

    def _has_journal(self) -> bool:
        file = self.folder / "journal"
        return file.exists() and file.stat().st_size > 0

    def _hire(self) -> None:
        """Two workers of a folder, and at first one of another version, which has to refuse."""
        if self.place != "dir":
            return
        jobs = str(self.folder / "jobs")
        if not self.workers:
            command = [sys.executable, "-c", OTHER, "work", jobs, "--idle", "10"]
            odd = subprocess.run(command, capture_output=True, text=True)
            assert (odd.returncode, "use one version" in odd.stderr) == (2, True), odd.stderr
            self.kills["refused for its version"] += 1
        self.workers = [one for one in self.workers if one.poll() is None]
        while len(self.workers) < 2:
            self.workers.append(subprocess.Popen([sys.executable, "-m", "vernal", "work", jobs, "--quiet"]))

    def _kill(self, driver: int) -> None:
        """One that works: of the folder's workers, or of the driver's descendants."""
        if self.place == "dir":
            victims = [one.pid for one in self.workers]
        else:
            victims = [pid for pid in _descendants(driver) if self.place != "ray" or b"answer_texts" in _called(pid)]
        if victims:
            os.kill(self.luck.choice(victims), signal.SIGKILL)
            self.kills["worker"] += 1

    def _tear(self) -> None:
        """The last line of the journal was only half written."""
        file = self.folder / "journal"
        content = file.read_bytes()
        if content:
            file.write_bytes(content[: len(content) - 20])
            self.kills["journal"] += 1

    def _end_workers(self) -> None:
        for one in self.workers:
            one.terminate()
        for one in self.workers:
            one.wait(30)

    def twice(self) -> int:
        """Sub-problems that two workers of a folder have answered."""
        files = (self.folder / "jobs" / "done").glob("*") if self.place == "dir" else ()
        counts = Counter(json.loads(line)["job"] for file in files for line in _whole(file))
        return sum(count - 1 for count in counts.values())


def _whole(file: Path) -> Iterable[bytes]:
    content = file.read_bytes()
    return content[: content.rfind(b"\n") + 1].splitlines()


def _descendants(parent: int) -> list[int]:
    found: list[int] = []
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            above = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(above, []).append(int(entry.name))
    waiting = [parent]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _called(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def plain(storm: Storm, folder: Path) -> list[dict[str, Any]]:
    """The rows of one process."""
    file = folder / "plain.json"
    sweep = ["sweep", str(VCAS), "--property", "safe", *storm.grid, "--json", str(file), "--quiet"]
    subprocess.run([sys.executable, "-m", "vernal", *sweep], check=True, stdout=subprocess.DEVNULL)
    rows: list[dict[str, Any]] = json.loads(file.read_text())["rows"]
    return rows


def main() -> int:
    """Run the storm in each place and count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--on", nargs="*", default=["workers", "dir"], choices=["workers", "dir", "ray"])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    storm = LONG if options.long else SHORT
    print(setting())
    faults = 0
    with tempfile.TemporaryDirectory() as temporary:
        expected = plain(storm, Path(temporary))
        for place in options.on:
            folder = Path(temporary) / place
            folder.mkdir()
            run = Run(storm, place, folder, random.Random(options.seed))
            rows = run.go()
            said = {json.dumps(row["parameters"]): row for row in rows}
            lost = sum(json.dumps(row["parameters"]) not in said for row in expected)
            pairs = [(row, said.get(json.dumps(row["parameters"]), row)) for row in expected]
            wrong = sum([one[name] for name in SAME] != [other[name] for name in SAME] for one, other in pairs)
            faults += lost + wrong + (len(rows) != len(expected))
            kills = ", ".join(f"{what} {count}" for what, count in run.kills.items())
            counts = f"{len(rows)} of {len(expected)} cells, {lost} lost, {wrong} wrong, {run.twice()} twice"
            print(f"{place}: {counts}; {kills}", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
