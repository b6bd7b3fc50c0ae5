"""Sheets of many independent one-call tasks: processor time a task by size, wall time against the bound, memory, resume and
show, a run that a limit ends; beside a raw client that makes the same calls in the same session.
"""

import asyncio
import http.client
import json
import multiprocessing
import resource
import sys
import threading
import time

from harness import Figure, Project
from server import completion, event, execution

SIZES = (100, 1_000, 10_000)
SLOTS = (4, 64)
CALLS_MS = (0, 50, 100)
LIMITED, LIMIT = 5_000, 4_000
ELEMENTS = (200, 2_000)
MAP = """<templates version="1"><template name="each" params="rows:array">
<task type="map" items="rows" as="row" max_parallel="4"><description>Each</description><limits max_items="100000"/>
<body><description>Where is {{row.name}}</description><instructions>Say it.</instructions><allowed_tools/></body>
</task></template></templates>
"""
# The longest run that is worth waiting for; shapes whose bound is longer are left out.
LONGEST = 40


def measure(program):
    figures = []
    cost = {}
    for slots in SLOTS:
        for size in SIZES:
            for call_ms in CALLS_MS:
                bound = -(-size // slots) * call_ms / 1000
                if bound > LONGEST or size > 1_000 and call_ms == 50:
                    continue
                one = run(program, size, slots, call_ms)
                report(size, slots, call_ms, bound, one)
                if call_ms == 0:
                    cost[size, slots] = one["cpu_ms"]
                else:
                    goal = 1.03 if slots == 4 else 1.10
                    name = f"scale: {size} tasks, {slots} slots, {call_ms} ms: wall / bound"
                    if size >= 1_000:
                        figures.append(Figure(name, one["wall"] / bound, goal, "", f"bound {bound:.2f} s"))
                if size == SIZES[-1]:
                    name = f"scale: {size} tasks, {slots} slots, {call_ms} ms"
                    figures.append(Figure(f"{name}: peak memory", one["peak_mib"], 250, "MiB", "VmHWM"))
                    for what in ("resume", "show"):
                        figures.append(Figure(f"{name}: {what}", one[what], 1, "s", ""))
        few, most = cost[SIZES[0], slots], cost[SIZES[-1], slots]
        raw = raw_client(SIZES[1], slots)
        note = f"{few:.3f} and {most:.3f} ms a task; a raw client in Python {raw:.3f} ms a call"
        figures.append(Figure(f"scale: processor time a task, {SIZES[-1]} / {SIZES[0]}, {slots} slots", most / few, 1.3, "", note))
        figures.append(Figure(f"scale: processor time a task of {SIZES[1]}, {slots} slots", cost[SIZES[1], slots], 0.5, "ms", ""))
    whole = run(program, LIMITED, 64, 0)["cpu_ms"]
    ended = run(program, LIMITED, 64, 0, limit=LIMIT)["cpu_ms"]
    note = f"{LIMITED} tasks, 64 slots; {ended:.3f} ms a task with limits.max_calls={LIMIT}, {whole:.3f} without"
    figures.append(Figure("scale: processor time of a run that a limit ends / one without", ended / whole, 1.1, "", note))
    few, most = (elements(program, count) for count in ELEMENTS)
    note = f"{few['cpu_ms']:.3f} and {most['cpu_ms']:.3f} ms an element; peak {few['peak_mib']:.0f} and {most['peak_mib']:.0f} MiB"
    growth = most["cpu_ms"] / few["cpu_ms"]
    figures.append(Figure(f"scale: processor time an element of a map, {ELEMENTS[1]} / {ELEMENTS[0]}", growth, 1.3, "", note))
    three, one = (sections(program, count) for count in (3, 1))
    note = f"{three:.2f} and {one:.2f} s; sections that only read"
    figures.append(Figure("scale: wall time of three sections of one task / of one", three / one, 1.15, "", note))
    return figures


def elements(program, count):
    """A map over the lines of a file, one call each."""
    with Served(0) as port, Project(Slots(port, 4)) as project:
        folder = project.root / ".callsheet/templates"
        folder.mkdir(parents=True)
        (folder / "each.xml").write_text(MAP)
        (project.root / "rows.csv").write_text("name\n" + "".join(f"place {number}\n" for number in range(count)))
        begun = processor_ms()
        words = ["template", "run", "each", "rows:=@rows.csv", "--set", f"limits.max_calls={count + 10}"]
        process = project.start(program, *words)
        code, wall = process.wait(600)
        if code:
            raise SystemExit(f"a map over {count} elements ended with {code}:\n{process.said()[-4000:]}")
        return {"cpu_ms": (processor_ms() - begun) / count, "wall": wall, "peak_mib": process.peak_kib / 1024}


def sections(program, count, call_ms=1000):
    """Seconds for so many sections of one task each that do not read each other."""
    with Served(call_ms) as port, Project(Slots(port, 4)) as project:
        begin, _, rest = sheet(1).partition("### Task section 1")
        text = begin + "\n".join(f"### Task section {n + 1}{rest.replace('00000', f'0000{n}')}" for n in range(count))
        (project.root / "sheet.md").write_text(text)
        code, wall = project.start(program, "run", "--sheet", "sheet.md", "--headless", "stop").wait(600)
        if code:
            raise SystemExit(f"a run of {count} sections ended with {code}")
        return wall


def report(size, slots, call_ms, bound, one):
    print(
        f"  {size} tasks, {slots} slots, {call_ms} ms a call: {one['cpu_ms']:.3f} ms of processor time a task, wall "
        f"{one['wall']:.2f} s (bound {bound:.2f}), peak {one['peak_mib']:.0f} MiB, resume {one['resume']:.2f} s, show "
        f"{one['show']:.2f} s",
        file=sys.stderr,
    )


def sheet(size):
    head = "# Sheet\n\n## Original prompt\nFind the places.\n\n## Goals / summary\nFind the places.\n\n**plan complete**\n\n## Tasks\n\n### Task section 1\n"
    return head + "\n".join(
        f"- **Name** Place {number:05}\n- **What is needed** Where place {number:05} is.\n- **Expected output** One line.\n"
        for number in range(size)
    )


class Slots:
    """What `Project` asks of a server."""

    def __init__(self, port, slots):
        self.base_url, self.slots = f"http://127.0.0.1:{port}/v1", slots


def run(program, size, slots, call_ms, limit=None):
    """One run, then its resume and its show."""
    with Served(call_ms) as port, Project(Slots(port, slots)) as project:
        (project.root / "sheet.md").write_text(sheet(size))
        limits = ["--set", f"limits.max_calls={limit or size + 10}"]
        begun = processor_ms()
        process = project.start(program, "run", "--sheet", "sheet.md", "--headless", "stop", *limits)
        code, wall = process.wait(600)
        used = processor_ms() - begun
        if (code == 0) != (limit is None):
            raise SystemExit(f"the run ended with {code}:\n{process.said()[-4000:]}")
        after = {}
        for what in ("resume", "show"):
            other = project.start(program, what) if limit is None else None
            after[what] = other.wait(600)[1] if other else 0.0
        return {"cpu_ms": used / size, "wall": wall, "peak_mib": process.peak_kib / 1024, **after}


def processor_ms():
    """Of all children that have ended. Servers end behind the runs they serve."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (used.ru_utime + used.ru_stime)


class Served:
    """The server, in a process of its own."""

    def __init__(self, call_ms):
        self._ours, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=serve, args=(theirs, call_ms / 1000), daemon=True)

    def __enter__(self):
        self._process.start()
        return self._ours.recv()

    def __exit__(self, *_):
        self._process.terminate()
        self._process.join()


def serve(pipe, seconds):
    """Answers every request with the same reply after the same time, as many at once as are asked."""
    reply = execution("the place")
    whole = json.dumps(completion(reply)).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(whole)
    delta = {"choices": [{"index": 0, "delta": {"content": reply}, "finish_reason": "stop"}]}
    usage = {"choices": [], "usage": completion(reply)["usage"]}
    events = (event(delta) + event(usage) + "data: [DONE]\n\n").encode()
    stream = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(events)

    async def exchange(reader, writer):
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                begun = asyncio.get_running_loop().time()
                length = next(
                    (int(line.split(b":")[1]) for line in request.lower().split(b"\r\n") if line.startswith(b"content-length")), 0
                )
                body = await reader.readexactly(length)
                if seconds and request.startswith(b"POST"):
                    await asyncio.sleep(max(0, begun + seconds - asyncio.get_running_loop().time()))
                writer.write(stream + events if b'"stream":true' in body.replace(b" ", b"") else head + whole)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main():
        server = await asyncio.start_server(exchange, "127.0.0.1", 0, backlog=512)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def raw_client(calls, slots):
    """Milliseconds of processor time a call of a loop that does nothing but ask, in a process of its own."""
    with Served(0) as port:
        begun = processor_ms()
        client = multiprocessing.Process(target=ask_all, args=(port, calls, slots))
        client.start()
        client.join()
        return (processor_ms() - begun) / calls


def ask_all(port, calls, slots):
    body = json.dumps({"model": "execute", "messages": [{"role": "user", "content": "Where is the place?" * 100}]})

    def ask(share):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for _ in range(share):
            connection.request("POST", "/v1/chat/completions", body)
            json.loads(connection.getresponse().read())

    threads = [threading.Thread(target=ask, args=(calls // slots,)) for _ in range(slots)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
