"""The shortest time the rules of the sheet allow: a list schedule in which nothing but the model takes time.

A unit is one model call of a fixed time. A task is refined, then executed. A task is executed only while its step is
the current one; steps follow one another. Units of the current step go first, then sheet order (spec 2.6).
"""

import heapq


def makespan(steps, tasks, unit, at_once):
    """Time from the plan call to the end of the last execution, in the unit of `unit`."""
    state = [["planned"] * tasks for _ in range(steps)]
    current, now, running = 0, unit, []
    while current < steps:
        for step, task, kind in ready(state, current):
            if len(running) == at_once:
                break
            state[step][task] = kind
            heapq.heappush(running, (now + unit, step, task))
        now = running[0][0]
        while running and running[0][0] == now:
            _, step, task = heapq.heappop(running)
            state[step][task] = "ready" if state[step][task] == "refining" else "done"
        while current < steps and all(task == "done" for task in state[current]):
            current += 1
    return now


def ready(state, current):
    """Units that may start, in order."""
    for step in range(current, len(state)):
        for task, what in enumerate(state[step]):
            if what == "planned":
                yield step, task, "refining"
            elif what == "ready" and step == current:
                yield step, task, "executing"
