"""Templates of many parts: a sequence, a reduction, and a map at few and at many parts beside each other. Processor time a part by
size, `show` and `report` by `max_parallel`, bytes a part in memory and in the store, and the time from `resume` to the first call.
"""

import sys
import time

from harness import Figure, Project
from scale import Served, Slots, ended, processor_ms

FEW, MANY = 200, 2_000
ITEMS = 20_000
LEFT = 3_600
PARALLEL = (4, 64)
ASKED = "<instructions>Say it.</instructions><allowed_tools/>"
BODIES = {
    "map": """<task type="map" items="rows" as="row" max_parallel="{parallel}"><description>Each</description><limits max_items="100000"/>
<body><description>Where is {{{{row.name}}}}</description>{asked}</body></task>""",
    "reduction": """<task type="reduce" items="rows"><description>All</description><limits max_items="100000"/>
<initial_value>none</initial_value><inner_task><description>Where is {{{{current_data.name}}}}</description>{asked}</inner_task>
<reduction_task><description>Join</description><instructions>Join {{{{accumulator}}}} and {{{{current_result}}}}.</instructions>
<allowed_tools/></reduction_task></task>""",
    "sequence": """<task type="sequential"><description>All</description><steps>{steps}</steps></task>""",
}


def measure(program):
    figures = []
    for kind in ("sequence", "reduction", "map"):
        few, many = (run(program, kind, count, 4)["cpu_ms"] / count for count in (FEW, MANY))
        note = f"{few:.2f} and {many:.2f} ms"
        figures.append(Figure(f"shapes: processor time a part of a {kind}, {MANY} / {FEW}", many / few, 1.3, "", note))
    beside = {parallel: run(program, "map", ITEMS, parallel, looks=("show", "report")) for parallel in PARALLEL}
    few, many = (beside[parallel] for parallel in PARALLEL)
    for look in ("show", "report"):
        note = f"{few[look] / 1000:.2f} and {many[look] / 1000:.2f} s of processor time; a map of {ITEMS}"
        figures.append(Figure(f"shapes: `{look}`, {PARALLEL[1]} / {PARALLEL[0]} beside each other", many[look] / few[look], 1.1, "", note))
    base = run(program, "map", FEW, 4)["peak_mib"]
    item = (few["peak_mib"] - base) * 1024 / (ITEMS - FEW)
    figures.append(Figure(f"shapes: memory an item of a map of {ITEMS}", item, 8, "KiB", f"peak {few['peak_mib']:.0f} MiB"))
    figures.append(Figure("shapes: its store / messages and replies", few["store"] / few["payload"], 1.3, ""))
    figures.append(Figure("shapes: its report", few["report_mb"], 2, "MB", ""))
    figures.append(Figure(f"shapes: `resume` of {LEFT} done items to its first call", resumed(program), 1, "s", ""))
    return figures


def template(kind, count, parallel):
    step = "<task id='s{0}'><description>Where is place {0}</description>{1}</task>"
    steps = "".join(step.format(number, ASKED) for number in range(count)) if kind == "sequence" else ""
    body = BODIES[kind].format(parallel=parallel, asked=ASKED, steps=steps)
    return f'<templates version="1"><template name="each" params="rows:array">{body}</template></templates>'


def prepare(project, kind, count, parallel):
    """Files of the project, and the words that run the template."""
    folder = project.root / ".callsheet/templates"
    folder.mkdir(parents=True)
    (folder / "each.xml").write_text(template(kind, count, parallel))
    (project.root / "rows.csv").write_text("name\n" + "".join(f"place {number}\n" for number in range(count)))
    return ["template", "run", "each", "rows:=@rows.csv", "--set", f"limits.max_calls={3 * count + 10}"]


def run(program, kind, count, parallel, looks=()):
    """One run, and looks at it."""
    with Served(0) as served, Project(Slots(served.port, max(PARALLEL))) as project:
        words = prepare(project, kind, count, parallel)
        begun = processor_ms()
        process = ended(project, program, words)
        found = {"cpu_ms": processor_ms() - begun, "peak_mib": process.peak_kib / 1024}
        found["payload"] = served.counts[1] + served.counts[2]
        found["store"] = next(project.folder.rglob("callsheet.db")).stat().st_size
        for look in looks:
            begun = processor_ms()
            ended(project, program, [look] if look == "show" else [look, "-o", "report.html"])
            found[look] = processor_ms() - begun
        if "report" in looks:
            found["report_mb"] = (project.root / "report.html").stat().st_size / 1e6
        print(f"  {kind} of {count}, {parallel} beside each other: {found}", file=sys.stderr)
        return found


def resumed(program):
    """Seconds from `resume` to the first call, of a map that was killed."""
    with Served(0, answers=LEFT) as served, Project(Slots(served.port, 64)) as project:
        process = project.start(program, *prepare(project, "map", LEFT + 200, 64))
        while served.counts[0] < LEFT + 64:
            time.sleep(0.05)
        process.kill()
        known, begun = served.counts[0], time.monotonic()
        process = project.start(program, "resume")
        while served.counts[0] == known:
            time.sleep(0.002)
        seconds = time.monotonic() - begun
        process.kill()
        return seconds
