"""What the benchmarks share: the binary, a throw-away project with its configuration, a watched process."""

import atexit
import os
import shutil
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUEST = "Where does each of these stand?"


@dataclass
class Figure:
    """One line of the table. A figure passes if it is at most its goal."""

    what: str
    value: float
    goal: float
    unit: str
    note: str = ""

    @property
    def passed(self):
        return self.value <= self.goal

    def row(self):
        ratio = f"{self.value / self.goal:.2f}" if self.goal else "-"
        goal = f"at most {self.goal:g} {self.unit}".strip()
        value = f"{self.value:.4g} {self.unit}".strip()
        return f"| {self.what} | {value} | {goal} | {ratio} | {'pass' if self.passed else 'FAIL'} | {self.note} |"


def binary():
    """The release build, made if need be; `CALLSHEET_BENCH_BINARY` names another one."""
    given = os.environ.get("CALLSHEET_BENCH_BINARY")
    if given:
        return Path(given).resolve()
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "callsheet"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "callsheet"


class Project:
    """A folder with one file, and a user's folder whose configuration names the scripted server."""

    def __init__(self, server):
        self.folder = Path(tempfile.mkdtemp(prefix="callsheet-bench-"))
        self.root = self.folder / "project"
        home = self.folder / "home"
        self.root.mkdir()
        home.mkdir()
        (self.root / "notes.md").write_text("# Notes\n\nWhat stands where.\n")
        phases = "\n".join(f'{phase} = "bench/{phase}"' for phase in ("plan", "refine", "execute", "iterate"))
        (home / "config.toml").write_text(
            f'model = "bench/any"\n\n[models]\n{phases}\n\n[providers.bench]\ndialect = "openai"\n'
            f'base_url = "{server.base_url}"\nslots = {server.slots}\n'
        )
        ours = ("CALLSHEET_", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.environment["CALLSHEET_HOME"] = str(home)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Removed at the end: for some seconds a file system looks for a new file's place among those of files that are just gone.
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self, program, *arguments):
        return Process([str(program), *arguments], self.root, self.environment)

    def run(self, program):
        # The calls that the server knows: a plan, and no answer written from the results.
        return self.start(program, "run", "--set", "plan=always", "--set", "join=never", REQUEST)


class Process:
    """A child whose memory is looked at while it runs; what it says goes to files of no size worth minding."""

    def __init__(self, command, folder, environment):
        self._said = tempfile.TemporaryFile()
        self.begun = time.monotonic()
        self._child = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said
        )
        self.peak_kib = 0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        # The child's own peak: the figure of `wait4` would count this script's memory at the time of the fork.
        while self._child.returncode is None:
            self.peak_kib = max(self.peak_kib, self.memory_kib("VmHWM"))
            time.sleep(0.02)

    def memory_kib(self, name):
        try:
            status = Path(f"/proc/{self._child.pid}/status").read_text()
        except OSError:
            return 0
        lines = [line for line in status.splitlines() if line.startswith(name + ":")]
        return int(lines[0].split()[1]) if lines else 0

    def wait(self, seconds=120):
        """Its exit code and how long it lived. A wait with a time limit looks only every 50 ms, so a thread waits."""
        ended = []
        waiting = threading.Thread(target=lambda: ended.append((self._child.wait(), time.monotonic())), daemon=True)
        waiting.start()
        waiting.join(seconds)
        if not ended:
            self.kill()
            raise SystemExit(f"the run did not end within {seconds} s:\n{self.said()[-4000:]}")
        code, end = ended[0]
        return code, end - self.begun

    def kill(self):
        """`kill -9`; true if it was still running."""
        alive = self._child.poll() is None
        self._child.kill()
        self._child.wait()
        return alive

    def said(self):
        self._said.seek(0)
        return self._said.read().decode(errors="replace")
