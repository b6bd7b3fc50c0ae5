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
# The longest run that is worth waiting for; shapes whose bound is longer are left out.
LONGEST = 40


def measure(program):
    figures = []
    for slots in SLOTS:
        figures += by_size(program, slots)
        few, most = (run(program, size, slots, 0, references=True)["cpu_ms"] for size in SIZES[1:])
        name = f"scale: processor time a task that reads a file, {SIZES[2]} / {SIZES[1]}, {slots} slots"
        figures.append(Figure(name, most / few, 1.2, "", f"{few:.3f} and {most:.3f} ms a task"))
    whole = run(program, LIMITED, 64, 0)["cpu_ms"]
    ended = run(program, LIMITED, 64, 0, limit=LIMIT)["cpu_ms"]
    note = f"{LIMITED} tasks, 64 slots; {ended:.3f} ms a task with limits.max_calls={LIMIT}, {whole:.3f} without"
    figures.append(Figure("scale: processor time of a run that a limit ends / one without", ended / whole, 1.1, "", note))
    three, one = (sections(program, count) for count in (3, 1))
    note = f"{three:.2f} and {one:.2f} s; sections that only read"
    figures.append(Figure("scale: wall time of three sections of one task / of one", three / one, 1.15, "", note))
    return figures


def by_size(program, slots):
    figures, cost = [], {}
    for size in SIZES:
        for call_ms in CALLS_MS:
            bound = -(-size // slots) * call_ms / 1000
            if bound > LONGEST or size > 1_000 and call_ms == 50:
                continue
            one = run(program, size, slots, call_ms, show=size == SIZES[2])
            report(size, slots, call_ms, bound, one)
            name = f"scale: {size} tasks, {slots} slots, {call_ms} ms"
            if call_ms == 0:
                cost[size] = one["cpu_ms"]
            elif size >= 1_000:
                goal = 1.03 if slots == 4 else 1.10
                figures.append(Figure(f"{name}: wall / bound", one["wall"] / bound, goal, "", f"bound {bound:.2f} s"))
            if size == SIZES[2]:
                figures.append(Figure(f"{name}: peak memory", one["peak_mib"], 250, "MiB", "VmHWM"))
                figures.append(Figure(f"{name}: show", one["show"], 1, "s", ""))
    small, few, most = (cost[size] for size in SIZES)
    raw = raw_client(SIZES[1], slots)
    note = f"{small:.3f}, {few:.3f} and {most:.3f} ms a task of {SIZES}; a raw client in Python {raw:.3f} ms a call"
    figures.append(Figure(f"scale: processor time a task, {SIZES[2]} / {SIZES[1]}, {slots} slots", most / few, 1.2, "", note))
    figures.append(Figure(f"scale: processor time a task of {SIZES[1]}, {slots} slots", few, 0.3, "ms", ""))
    seconds = resumed(program, SIZES[2], slots)
    figures.append(Figure(f"scale: `resume` of {SIZES[2]} done tasks to its first call, {slots} slots", seconds, 1, "s", ""))
    return figures


def sections(program, count, call_ms=1000):
    """Seconds for so many sections of one task each that do not read each other."""
    with Served(call_ms) as served, Project(Slots(served.port, 4)) as project:
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
        f"{one['wall']:.2f} s (bound {bound:.2f}), peak {one['peak_mib']:.0f} MiB",
        file=sys.stderr,
    )


def sheet(size, references=False):
    head = "# Sheet\n\n## Original prompt\nFind the places.\n\n## Goals / summary\nFind the places.\n\n**plan complete**\n\n## Tasks\n\n### Task section 1\n"
    reads = "- **References** [Notes](notes.md)\n" if references else ""
    return head + "\n".join(
        f"- **Name** Place {number:05}\n- **What is needed** Where place {number:05} is.\n{reads}- **Expected output** One line.\n"
        for number in range(size)
    )


def ended(project, program, words, code=0):
    """A process that has ended, with this code."""
    process = project.start(program, *words)
    found, process.wall = process.wait(1_800)
    if found != code:
        raise SystemExit(f"{words} ended with {found}, not {code}:\n{process.said()[-4000:]}")
    return process


class Slots:
    """What `Project` asks of a server."""

    def __init__(self, port, slots):
        self.base_url, self.slots = f"http://127.0.0.1:{port}/v1", slots


# What a run ends with that a limit of its own ended.
LIMIT_REACHED = 6


def run(program, size, slots, call_ms, limit=None, references=False, show=False):
    """One run, then a look at it."""
    with Served(call_ms) as served, Project(Slots(served.port, slots)) as project:
        (project.root / "sheet.md").write_text(sheet(size, references))
        limits = ["--set", f"limits.max_calls={limit or size + 10}"]
        begun = processor_ms()
        words = ["run", "--sheet", "sheet.md", "--headless", "stop", *limits]
        process = ended(project, program, words, 0 if limit is None else LIMIT_REACHED)
        found = {"cpu_ms": (processor_ms() - begun) / size, "wall": process.wall, "peak_mib": process.peak_kib / 1024}
        if show:
            found["show"] = ended(project, program, ["show"]).wall
        return found


def resumed(program, size, slots):
    """Seconds from `resume` to the first call, of a run that was killed when so many tasks were done."""
    with Served(0, answers=size) as served, Project(Slots(served.port, slots)) as project:
        (project.root / "sheet.md").write_text(sheet(size + 2 * slots))
        limits = ["--set", f"limits.max_calls={2 * size}"]
        process = project.start(program, "run", "--sheet", "sheet.md", "--headless", "stop", *limits)
        while served.counts[0] < size + slots:
            time.sleep(0.05)
        process.kill()
        known, begun = served.counts[0], time.monotonic()
        process = project.start(program, "resume", "--headless", "stop")
        while served.counts[0] == known:
            time.sleep(0.002)
        seconds = time.monotonic() - begun
        process.kill()
        return seconds


def processor_ms():
    """Of all children that have ended. Servers end behind the runs they serve."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (used.ru_utime + used.ru_stime)


class Served:
    """The server, in a process of its own."""

    def __init__(self, call_ms, answers=None):
        self._ours, theirs = multiprocessing.Pipe()
        # Calls, bytes of requests, bytes of replies.
        self.counts = multiprocessing.Array("q", 3, lock=False)
        self._process = multiprocessing.Process(target=serve, args=(theirs, self.counts, call_ms / 1000, answers), daemon=True)

    def __enter__(self):
        self._process.start()
        self.port = self._ours.recv()
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.join()


def said(number):
    """Every reply is another one: equal texts are stored once, which no real run has."""
    place = f"{number * 7919 % 10007} paces north of house {number * 31 % 997}"
    return execution(f"place {number}") + f"\nIt is {place}, seen on day {number * 13 % 365}. Nothing else is known of it.\n"


def serve(pipe, counts, seconds, answers):
    """Answers every request after the same time, as many at once as are asked; behind so many `answers` none."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n"

    async def exchange(reader, writer):
        clock = asyncio.get_running_loop()
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                begun = clock.time()
                lines = request.lower().split(b"\r\n")
                length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")), 0)
                body = await reader.readexactly(length)
                if request.startswith(b"POST"):
                    counts[0] += 1
                    if answers is not None and counts[0] > answers:
                        await asyncio.sleep(3_600)
                    if seconds:
                        await asyncio.sleep(max(0, begun + seconds - clock.time()))
                reply = said(counts[0])
                counts[1] += length
                counts[2] += len(reply)
                kind, data = b"application/json", json.dumps(completion(reply)).encode()
                if b'"stream":true' in body.replace(b" ", b""):
                    delta = {"choices": [{"index": 0, "delta": {"content": reply}, "finish_reason": "stop"}]}
                    usage = {"choices": [], "usage": completion(reply)["usage"]}
                    kind, data = b"text/event-stream", (event(delta) + event(usage) + "data: [DONE]\n\n").encode()
                writer.write(head % (kind, len(data)) + data)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main():
        server = await asyncio.start_server(exchange, "127.0.0.1", 0, backlog=512)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def raw_client(calls, slots):
    """Milliseconds of processor time a call of a loop that does nothing but ask, in a process of its own."""
    with Served(0) as served:
        begun = processor_ms()
        client = multiprocessing.Process(target=ask_all, args=(served.port, calls, slots))
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
