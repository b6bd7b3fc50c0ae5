"""What the store of a run weighs beside what was said, and how long the list of a long history takes.

Payload is what an outsider sees: the texts of all messages that the server was sent and of all its replies. The store is all
files of the database that are there when the process has ended.
"""

import sqlite3
import statistics
import time
from pathlib import Path

from harness import Figure, Project
from server import Server

STEPS, TASKS, CALL_MS, SLOTS = 10, 10, 5, 4
RUNS, REAL, TIMES = 2000, 20, 10


def measure(program):
    return [*measure_bytes(program), *measure_history(program)]


def measure_bytes(program):
    server = Server(STEPS, TASKS, CALL_MS, SLOTS)
    try:
        with Project(server) as project:
            end(project.run(program))
            files = {file.name: file.stat().st_size for file in database(project).parent.glob("callsheet.db*")}
    finally:
        server.close()
    payload = sum(len(call.text.encode()) + call.reply_bytes for call in server.calls)
    left = sum(size for name, size in files.items() if name != "callsheet.db")
    note = f"{sum(files.values()):,} bytes for {payload:,} of {len(server.calls)} calls"
    return [
        Figure("store: bytes / bytes of messages and replies", sum(files.values()) / payload, 1.3, "", note),
        Figure("store: bytes of log files after the run", left, 0, "", ", ".join(sorted(files))),
    ]


def measure_history(program):
    """A few runs are real, the others are copies of them with names of their own."""
    server = Server(1, 2, CALL_MS, SLOTS)
    try:
        with Project(server) as project:
            for _ in range(REAL):
                end(project.run(program))
            multiply(database(project))
            listed = [end(project.start(program, "runs"))[1] * 1000 for _ in range(TIMES)]
            shown = project.start(program, "--json", "runs")
            end(shown)
            lines = sum(line.startswith("{") for line in shown.said().splitlines())
            if lines != RUNS:
                raise SystemExit(f"{lines} runs were listed instead of {RUNS}")
    finally:
        server.close()
    bytes_a_run = f"{RUNS} runs, median of {TIMES}"
    return [Figure("history: `runs` of 2,000 runs", statistics.median(listed), 50, "ms", bytes_a_run)]


def end(process):
    code, seconds = process.wait()
    if code != 0:
        raise SystemExit(f"the command ended with {code}:\n{process.said()[-4000:]}")
    return code, seconds


def database(project):
    found = list(Path(project.environment["CALLSHEET_HOME"]).rglob("callsheet.db"))
    if len(found) != 1:
        raise SystemExit(f"no database, or several: {found}")
    return found[0]


def multiply(path):
    with sqlite3.connect(path) as connection:
        runs = connection.execute("SELECT id, run, request, started_at, changed_at, facts, outcome FROM runs").fetchall()
        for number in range(RUNS - len(runs)):
            old, name, *rest = runs[number % len(runs)]
            copy = connection.execute(
                "INSERT INTO runs (run, request, started_at, changed_at, facts, outcome) VALUES (?, ?, ?, ?, ?, ?)",
                (f"{name}-copy-{number}", *rest),
            ).lastrowid
            connection.execute(
                "INSERT INTO facts (key, at, v, size, body, orders)"
                " SELECT ? * 4294967296 + key % 4294967296, at, v, size, body, orders FROM facts"
                " WHERE key BETWEEN ? * 4294967296 AND ? * 4294967296 + 4294967295",
                (copy, old, old),
            )
    connection.close()
