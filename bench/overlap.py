"""Ten steps of ten tasks against the shortest time the rules allow; overlap of refinement and execution; peak memory."""

import resource
import statistics

from harness import Figure, Project
from schedule import makespan
from server import Server

STEPS, TASKS, CALL_MS, SLOTS = 10, 10, 50, 4


def measure(program, repeat=5):
    bound = makespan(STEPS * TASKS, CALL_MS, SLOTS)
    runs = [one(program) for _ in range(repeat)]
    walls = [wall for wall, _, _, _ in runs]
    shown = " ".join(f"{wall:.0f}" for wall in sorted(walls))
    served = statistics.mean(1000 * (call.ended - call.begun) for _, server, _, _ in runs for call in server.calls)
    gained = [step_one_end(server) - step_two_begin(server) for _, server, _, _ in runs]
    work = statistics.median(cpu / len(server.calls) for _, server, _, cpu in runs)
    return [
        Figure(
            "overlap: wall time / bound",
            statistics.median(walls) / bound,
            1.05,
            "",
            f"bound {bound} ms; walls {shown} ms; a call took the server {served:.2f} ms and us {work:.2f} ms of processor time",
        ),
        Figure(
            "overlap: calls at once", max(server.most_at_once for _, server, _, _ in runs), SLOTS, "", "seen by the server"
        ),
        Figure(
            "overlap: calls beside the minimum",
            max(abs(len(server.calls) - (1 + 2 * STEPS * TASKS)) for _, server, _, _ in runs),
            0,
            "",
            f"{1 + 2 * STEPS * TASKS} calls are the minimum",
        ),
        Figure(
            "overlap: first refinement of step 2 after the end of step 1",
            -min(gained) * 1000,
            0,
            "ms",
            "negative: it started before",
        ),
        Figure("overlap: peak memory", max(peak for _, _, peak, _ in runs) / 1024, 60, "MiB", "VmHWM"),
    ]


def one(program):
    """Wall time in ms, the server with its log, peak memory in KiB, processor time in ms."""
    before = processor_ms()
    server = Server(STEPS, TASKS, CALL_MS, SLOTS)
    try:
        with Project(server) as project:
            process = project.run(program)
            code, seconds = process.wait()
            if code != 0:
                raise SystemExit(f"the run ended with {code}:\n{process.said()[-4000:]}")
            return seconds * 1000, server, process.peak_kib, processor_ms() - before
    finally:
        server.close()


def processor_ms():
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (used.ru_utime + used.ru_stime)


def step_one_end(server):
    return max(call.ended for call in server.calls if call.phase == "execute" and call.task.startswith("find-01-"))


def step_two_begin(server):
    return min(call.begun for call in server.calls if call.phase == "refine" and call.task.startswith("find-02-"))
