"""From the start of the process to its first request, and its memory while it waits for the reply."""

import shutil
import statistics
import tempfile
import time

from harness import Figure, Project
from server import Server

TIMES = 20
SLOW_MS = 2000
SETTLE = 0.15


def measure(program):
    starts, memory = [], []
    # A user's folder stays from project to project, and with it what an earlier start found out about the machine.
    with tempfile.TemporaryDirectory(prefix="callsheet-bench-home-") as home:
        one(program, home)
        for _ in range(TIMES):
            start, resident = one(program, home)
            starts.append(start)
            memory.append(resident)
    spread = f"min {min(starts):.1f}, max {max(starts):.1f} ms; {TIMES} new projects"
    return [
        Figure("start: process to first request, median", statistics.median(starts), 20, "ms", spread),
        Figure("start: memory while waiting", max(memory), 20, "MiB", "VmRSS, largest of all"),
    ]


def one(program, home):
    """Milliseconds to the first request, MiB while it waits."""
    server = Server(1, 1, SLOW_MS)
    try:
        with Project(server) as project:
            shutil.copy(project.folder / "home" / "config.toml", home)
            project.environment["CALLSHEET_HOME"] = home
            process = project.run(program)
            if not server.first_call.wait(20):
                process.kill()
                raise SystemExit(f"no request came:\n{process.said()[-4000:]}")
            time.sleep(SETTLE)
            resident = process.memory_kib("VmRSS") / 1024
            process.kill()
            return (server.calls[0].begun - process.begun) * 1000, resident
    finally:
        server.close()
