"""`kill -9` at random moments, then `resume`: it completes, and no reply that was recorded is asked for again."""

import json
import random
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path

import record
from harness import Figure, Project
from server import Server

SEED = 20_26
SMALL, LARGE = (4, 4, 20), (10, 10, 50)
TIMES, LARGE_TIMES = 50, 5
SLOTS = 4


def measure(program):
    moments = random.Random(SEED)
    totals = {"incomplete": 0, "repeated": 0, "twice": 0, "extra": 0}
    lasts = {shape: length(program, shape) for shape in (SMALL, LARGE)}
    notes = []
    for number in range(TIMES):
        shape = LARGE if number < LARGE_TIMES else SMALL
        result = None
        while result is None:
            result = one(program, shape, moments.uniform(0, lasts[shape]))
        if result["said"]:
            notes.append(result["said"])
        totals["incomplete"] += not result["complete"]
        totals["repeated"] += result["repeated"]
        totals["twice"] = max(totals["twice"], result["twice"])
        totals["extra"] += abs(result["calls"] - result["twice"] - minimum(shape))
    for note in notes[:3]:
        print(note)
    where = f"{TIMES} kills, {LARGE_TIMES} of them in 10 x 10, seed {SEED}"
    return [
        Figure("kill: runs that did not complete", totals["incomplete"], 0, "", where),
        Figure("kill: recorded replies asked for again", totals["repeated"], 0, "", "requests compared byte by byte"),
        Figure("kill: most calls sent twice in a run", totals["twice"], SLOTS, "", "only those in flight at the kill"),
        Figure("kill: calls beside these", totals["extra"], 0, "", "of all runs"),
    ]


def minimum(shape):
    steps, tasks, _ = shape
    return 1 + 2 * steps * tasks


def length(program, shape):
    """Seconds from the first request to the end of a run that nobody kills."""
    server = Server(*shape, SLOTS)
    try:
        with Project(server) as project:
            process = project.run(program)
            code, _ = process.wait()
            if code != 0:
                raise SystemExit(f"the run ended with {code}:\n{process.said()[-4000:]}")
            return time.monotonic() - server.calls[0].begun
    finally:
        server.close()


def one(program, shape, moment):
    """Kills a run `moment` seconds after its first request, resumes it, compares. `None`: it had ended before."""
    server = Server(*shape, SLOTS)
    try:
        with Project(server) as project:
            process = project.run(program)
            server.first_call.wait(20)
            time.sleep(moment)
            if not process.kill():
                return None
            run, known = what_is_recorded(project.root)
            # Requests already on their way reach the server before the next process starts.
            time.sleep(0.05)
            before = len(server.calls)
            resumed = project.start(program, "resume", run, "--headless", "stop")
            code, _ = resumed.wait()
            return compare(server.calls[:before], server.calls[before:], known, code, moment, resumed.said())
    finally:
        server.close()


def compare(before, after, recorded, code, moment, said):
    sent_before = {call.text for call in before}
    again = [call for call in after if call.text in sent_before]
    repeated = [call for call in again if call.text in recorded]
    by_task = {(call.phase, call.task) for call in before if call.text in recorded}
    repeated += [call for call in after if (call.phase, call.task) in by_task and call not in repeated]
    complete = code == 0
    fine = complete and not repeated
    return {
        "complete": complete,
        "repeated": len(repeated),
        "twice": len(again),
        "calls": len(before) + len(after),
        "said": "" if fine else f"killed {moment:.3f} s after the first request, exit {code}:\n{said[-2000:]}",
    }


def what_is_recorded(root):
    """The run, and every prompt whose reply is a fact. Reads a copy, so that the resume finds the files as they fell."""
    folder = Path(tempfile.mkdtemp(prefix="callsheet-bench-"))
    try:
        for file in root.parent.rglob("callsheet.db*"):
            shutil.copy(file, folder)
        connection = sqlite3.connect(folder / "callsheet.db")
        blobs, facts = record.blobs(connection), record.facts(connection)
        (run,) = connection.execute("SELECT run FROM runs").fetchone()
        connection.close()
        return run, {text_of(blobs[fact["prompt"]]) for fact in facts if fact["event"] == "reply_received"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def text_of(prompt):
    request = json.loads(prompt)["request"]
    texts = [request["system"]] if request.get("system") else []
    return "\n".join(texts + [message.get("text") or "" for message in request["messages"]])
