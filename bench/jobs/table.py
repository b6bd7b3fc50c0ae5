"""What the rows of a run say: right, calls, tokens and CPU seconds by side, half and kind, and whether the aims are met."""

from statistics import mean, median

import graders

SIDES = ("callsheet", "plain", "react")
WORKING = ("write", "change", "fix", "steps")


def chosen(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def by_seed(rows):
    """How many were right, for each seed."""
    return [sum(row["right"] for row in chosen(rows, seed=seed)) for seed in sorted({row["seed"] for row in rows})]


def right(rows):
    return median(by_seed(rows)) if rows else 0


def count(rows):
    return len({row["job"] for row in rows})


def number(values, digits=1):
    values = [value for value in values if value is not None]
    return f"{mean(values):,.{digits}f}" if values else "-"


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def head(cells):
    return [line(cells), "|" + "---|" * len(cells)]


def used(side, half, rows):
    cold, warm = chosen(rows, cold=True), chosen(rows, cold=False)
    return line([
        side, half, f"{right(rows):g} of {count(rows)}", " ".join(map(str, by_seed(rows))), number([row["calls"] for row in rows]),
        number([row["prompt"] for row in rows], 0), number([row["cached"] for row in rows], 0),
        number([row["new"] for row in rows], 0), number([row["written"] for row in rows], 0),
        number([row["cpu"] for row in cold]), number([row["cpu"] for row in warm]), number([row["wall"] for row in rows]),
        sum(row["false_success"] for row in rows),
    ])


def text(jobs, rows):
    """The tables and the aims, as Markdown."""
    sides = [side for side in SIDES if chosen(rows, side=side)]
    names = ["side", "half", "right", "each seed", "calls", "read", "cached", "new", "written", "CPU s cold", "CPU s warm", "s",
             "false successes"]
    shown = ["Means for each job; `right` is the median of the seeds. Cold is the first job on a project, warm are the others.", ""]
    shown += head(names)
    for half in (*graders.HALVES, "all"):
        for side in sides:
            found = chosen(rows, side=side) if half == "all" else chosen(rows, side=side, half=half)
            shown += [used(side, half, found)] if found else []
    shown += ["", *head(["kind", *(f"{half}: {side}" for half in graders.HALVES for side in sides)])]
    for kind in graders.KINDS:
        cells = [chosen(rows, side=side, half=half, kind=kind) for half in graders.HALVES for side in sides]
        if any(cells):
            shown.append(line([kind, *(f"{right(cell):g} of {count(cell)}" if cell else "-" for cell in cells)]))
    judged = aims(jobs, rows)
    shown += ["", *(f"- {'pass' if passed else 'FAIL'}: {words}" for passed, words in judged)]
    if not judged:
        shown.append("The aims need the whole held-out half, done by callsheet and by plain.")
    return "\n".join(shown)


def aims(jobs, rows):
    """Each aim with whether it is met; none before both sides have done the whole held-out half."""
    held = [job for job in jobs if job.half == "held-out"]
    ours, theirs = (chosen(rows, side=side, half="held-out") for side in ("callsheet", "plain"))
    if count(ours) < len(held) or count(theirs) < len(held):
        return []
    fewer = []
    for kind in graders.KINDS:
        if right(chosen(ours, kind=kind)) < right(chosen(theirs, kind=kind)):
            fewer.append(kind)
    working = [right([row for row in side if row["kind"] in WORKING]) for side in (ours, theirs)]
    false = sum(row["false_success"] for row in rows if row["side"] == "callsheet")
    share = right(ours) / len(held)
    return [
        (share >= 0.6, f"{share:.0%} of the held-out jobs right (aim: 60 %)"),
        (not fewer, f"kinds with fewer right than the plain call: {', '.join(fewer) or 'none'} (aim: none)"),
        (working[0] >= 2 * working[1], f"{working[0]:g} right in writing, fixing and several steps, the plain call {working[1]:g} (aim: twice)"),
        (false == 0, f"{false} false successes (aim: 0)"),
    ]
