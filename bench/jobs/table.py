"""What the rows of a run say: right, calls, tokens and CPU seconds by side, half and kind, with intervals, and whether the aims are met."""

import random
from math import sqrt
from statistics import mean

import graders

SIDES = ("callsheet", "plain", "react")
SEEDS = 3
DRAWS = 10_000
# The normal distribution's share of 95 %.
Z = 1.96


def chosen(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def by_seed(rows):
    """How many were right, for each seed."""
    return [sum(row["right"] for row in chosen(rows, seed=seed)) for seed in sorted({row["seed"] for row in rows})]


def share(rows):
    return mean(row["right"] for row in rows) if rows else 0.0


def names(rows):
    return sorted({row["job"] for row in rows})


def wilson(part, of):
    """The 95 % interval of Wilson for a share of so many."""
    if not of:
        return 0.0, 1.0
    middle = (part + Z * Z / (2 * of)) / (1 + Z * Z / of)
    reach = Z * sqrt(part * (1 - part) / of + Z * Z / (4 * of * of)) / (1 + Z * Z / of)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def interval(rows):
    """The share that is right with its interval. Seeds of one job are no new jobs, so the interval is that of the jobs."""
    low, high = wilson(share(rows), len(names(rows)))
    return f"{share(rows):.0%} ({low:.0%} to {high:.0%})"


def difference(ours, theirs):
    """By how much more of the same jobs we got right, with the 95 % interval of a bootstrap over jobs; `None`: no job in common."""
    both = sorted(set(names(ours)) & set(names(theirs)))
    if not both:
        return None
    gains = [share(chosen(ours, job=job)) - share(chosen(theirs, job=job)) for job in both]
    draw = random.Random(1)
    drawn = sorted(mean(draw.choices(gains, k=len(gains))) for _ in range(DRAWS))
    return mean(gains), drawn[int(DRAWS * 0.025)], drawn[int(DRAWS * 0.975)]


def difference_words(ours, theirs):
    found = difference(ours, theirs)
    return "-" if found is None else f"{found[0]:+.0%} ({found[1]:+.0%} to {found[2]:+.0%})"


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
        side, half, f"{' '.join(map(str, by_seed(rows)))} of {len(names(rows))}", interval(rows), number([row["calls"] for row in rows]),
        number([row["prompt"] for row in rows], 0), number([row["cached"] for row in rows], 0),
        number([row["new"] for row in rows], 0), number([row["written"] for row in rows], 0),
        number([row["cpu"] for row in cold]), number([row["cpu"] for row in warm]), number([row["wall"] for row in rows]),
        sum(row["false_success"] for row in rows),
    ])


def pooled(jobs, rows):
    """The rows of jobs that ask for a file, and of those that ask for an answer only."""
    writing = {job.id for job in jobs if job.file}
    return {
        "reading": [row for row in rows if row["job"] not in writing],
        "writing": [row for row in rows if row["job"] in writing],
    }


def text(jobs, rows):
    """The tables and the aims, as Markdown."""
    sides = [side for side in SIDES if chosen(rows, side=side)]
    columns = ["side", "half", "right, each seed", "share (95 %)", "calls", "read", "cached", "new", "written", "CPU s cold", "CPU s warm",
               "s", "false successes"]
    shown = ["Means for each job. Cold is the first job on a project, warm are the others.", ""]
    shown += head(columns)
    for half in (*graders.HALVES, "all"):
        for side in sides:
            found = chosen(rows, side=side) if half == "all" else chosen(rows, side=side, half=half)
            shown += [used(side, half, found)] if found else []
    shown += ["", *head(["jobs", "half", *(f"{side}, share (95 %)" for side in sides), "callsheet more than plain (95 %, paired)"])]
    for half in graders.HALVES:
        pools = {side: pooled(jobs, chosen(rows, side=side, half=half)) for side in sides}
        for pool in ("reading", "writing"):
            cells = [interval(pools[side][pool]) if pools[side][pool] else "-" for side in sides]
            pair = [pools.get(side, {}).get(pool, []) for side in ("callsheet", "plain")]
            if any(cell != "-" for cell in cells):
                shown.append(line([pool, half, *cells, difference_words(*pair)]))
    shown += ["", *head(["kind", *(f"{half}: {side}" for half in graders.HALVES for side in sides)])]
    for kind in graders.KINDS:
        cells = [chosen(rows, side=side, half=half, kind=kind) for half in graders.HALVES for side in sides]
        if any(cells):
            shown.append(line([kind, *(f"{sum(row['right'] for row in cell)} of {len(cell)}" if cell else "-" for cell in cells)]))
    judged = aims(jobs, rows)
    shown += ["", *(f"- {'pass' if passed else 'FAIL'}: {words}" for passed, words in judged)]
    if not judged:
        shown.append(f"Not to be published: that needs every held-out job with {SEEDS} seeds, done by callsheet and by plain.")
    return "\n".join(shown)


def is_whole(jobs, rows):
    """Whether every held-out job was done with all seeds."""
    held = [job.id for job in jobs if job.half == "held-out"]
    return all(len({row["seed"] for row in chosen(rows, job=job)}) >= SEEDS for job in held)


def aims(jobs, rows):
    """Each aim with whether it is met; none before both sides have done the whole held-out half with all seeds."""
    ours, theirs = (chosen(rows, side=side, half="held-out") for side in ("callsheet", "plain"))
    if not (is_whole(jobs, ours) and is_whole(jobs, theirs)):
        return []
    ours, theirs = pooled(jobs, ours), pooled(jobs, theirs)
    judged = []
    for pool in ("reading", "writing"):
        judged.append((
            share(ours[pool]) > share(theirs[pool]),
            f"{pool}: {difference_words(ours[pool], theirs[pool])} more than the plain call (aim: ahead)",
        ))
    reading, writing, plain = share(ours["reading"]), share(ours["writing"]), share(theirs["writing"])
    false = sum(row["false_success"] for row in ours["reading"] + ours["writing"])
    return [
        *judged,
        (reading >= 0.6, f"{reading:.0%} of the reading right (aim: 60 %)"),
        (writing >= 2 * plain, f"{writing:.0%} of the writing right, the plain call {plain:.0%} (aim: twice)"),
        (false == 0, f"{false} false successes (aim: 0)"),
    ]
