"""Five tasks of a plan that is written at 50 tokens a second, with calls of a second: wall time with tasks that begin while it
is being written, beside the same with `start_early = false`.
"""

import time

import server
from harness import Figure, Project
from server import Server

CALL_MS, TOKENS = 1_000, 50
# Sections, tasks in each, slots of the server.
SHAPES = {"five sections, 4 slots": (5, 1, 4), "one section, 4 slots": (1, 5, 4), "one section, 2 slots": (1, 5, 2)}


class Writer(Server):
    """Sends a plan a token of four letters at a time."""

    def _stream(self, connection, call, reply):
        if call.phase != "plan":
            return super()._stream(connection, call, reply)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for at in range(0, len(reply), 4):
            time.sleep(1 / TOKENS)
            piece = {"choices": [{"index": 0, "delta": {"content": reply[at : at + 4]}}]}
            connection.sendall(server.chunk(server.event(piece)))
        self._done(call)
        end = [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, {"choices": [], "usage": server.usage(reply)}]
        connection.sendall(server.chunk("".join(map(server.event, end)) + "data: [DONE]\n\n") + b"0\r\n\r\n")


def measure(program):
    figures = []
    for name, shape in SHAPES.items():
        early, late = (one(program, *shape, begins) for begins in (True, False))
        note = f"{early:.1f} and {late:.1f} s; {CALL_MS} ms a call, {TOKENS} tokens a second"
        figures.append(Figure(f"early: wall time with tasks that begin early / without, {name}", early / late, 0.86, "", note))
    return figures


def one(program, steps, tasks, slots, begins):
    writer = Writer(steps, tasks, CALL_MS, slots)
    try:
        with Project(writer) as project:
            config = project.folder / "home/config.toml"
            config.write_text(f"start_early = {str(begins).lower()}\n" + config.read_text())
            process = project.run(program)
            code, seconds = process.wait()
            calls = len(writer.calls)
            if code != 0 or calls != 1 + 2 * steps * tasks:
                raise SystemExit(f"the run ended with {code} after {calls} calls:\n{process.said()[-4000:]}")
            return seconds
    finally:
        writer.close()
