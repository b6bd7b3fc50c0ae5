"""Reading replies of one megabyte that are made of small fences, and the worst of all hostile families."""

import os
import re
import subprocess

from harness import ROOT, Figure

ROW = re.compile(r"^(.{28}) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +\d+, \d+$")


def measure(_program):
    command = ["cargo", "bench", "--quiet", "-p", "callsheet-format", "--bench", "hostile"]
    run = subprocess.run(command, cwd=ROOT, env=dict(os.environ), check=True, capture_output=True, text=True)
    rows = [match.groups() for match in map(ROW.match, run.stdout.splitlines()) if match]
    if not rows:
        raise SystemExit(f"no family was read:\n{run.stdout[-2000:]}")
    families = {name.strip(): (float(quarter), float(one), float(two)) for name, quarter, _, one, two in rows}
    fences = {name: times for name, times in families.items() if "fence" in name}
    worst_fence = max(fences, key=lambda name: fences[name][1])
    worst = max(families, key=lambda name: families[name][1])
    # Below some milliseconds the clock's steps are larger than the difference.
    steep = max(families, key=lambda name: families[name][2] / max(families[name][1], 10))
    growth = families[steep][2] / max(families[steep][1], 10)
    return [
        Figure("reading: 1 MB of small fences", fences[worst_fence][1], 50, "ms", worst_fence),
        Figure("reading: 1 MB of the worst family", families[worst][1], 50, "ms", f"{worst}, of {len(families)}"),
        Figure("reading: 2 MB against 1 MB, the steepest family", growth, 3, "", steep),
    ]
