"""The shortest time the rules of the sheet allow: a list schedule in which nothing but the model takes time.

A unit is one model call of a fixed time. A task is refined, then executed. Tasks that only read do not wait for other sections; units
go in sheet order (spec 2.6).
"""

import heapq


def makespan(tasks, unit, at_once):
    """Time from the plan call to the end of the last execution, in the unit of `unit`."""
    state = ["planned"] * tasks
    now, running = unit, []
    while any(task != "done" for task in state):
        for task, what in enumerate(state):
            if len(running) < at_once and what in ("planned", "ready"):
                state[task] = "refining" if what == "planned" else "executing"
                heapq.heappush(running, (now + unit, task))
        now = running[0][0]
        while running and running[0][0] == now:
            _, task = heapq.heappop(running)
            state[task] = "ready" if state[task] == "refining" else "done"
    return now
