"""A scripted server that speaks OpenAI chat completions: every call takes the same time, every request is kept.

The name of the model says what is asked for (`plan`, `refine`, `execute`, `iterate`), and a task is known by the word
`find-SS-TT` in its text, so the replies need no knowledge of the prompts' words.
"""

import json
import re
import socket
import threading
import time
from dataclasses import dataclass

THREADS = 16
WORD = re.compile(r"find-(\d\d)-(\d\d)")


@dataclass
class Call:
    """One request. Times are seconds of the monotonic clock."""

    phase: str
    task: str
    text: str
    begun: float
    ended: float = 0.0
    reply_bytes: int = 0
    broken: bool = False


class Server:
    """Listens on a free port of the loopback until `close`."""

    def __init__(self, steps, tasks, call_ms, slots=4):
        self.steps, self.tasks, self.seconds = steps, tasks, call_ms / 1000
        self.slots = slots
        self.calls = []
        self.most_at_once = 0
        self.first_call = threading.Event()
        self._at_once = 0
        self._lock = threading.Lock()
        self._free = threading.Semaphore(slots)
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.base_url = "http://127.0.0.1:%d/v1" % self._socket.getsockname()[1]
        for _ in range(THREADS):
            threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    while self._exchange(connection):
                        pass
                except OSError:
                    pass

    def _exchange(self, connection):
        """One request and its reply; false when the client is gone."""
        request = read_request(connection)
        if request is None:
            return False
        # The time of a call runs from the last byte of the request; reading it and making up the reply are part of it.
        begun = time.monotonic()
        path, body = request[0], json.loads(request[1]) if request[1] else {}
        if not path.endswith("/chat/completions"):
            connection.sendall(whole(404, {"error": {"message": "only chat completions are served"}}))
            return True
        call = self._note(body, begun)
        with self._free:
            try:
                reply = self._reply(call)
                call.reply_bytes = len(reply.encode())
                if body.get("stream"):
                    self._stream(connection, call, reply)
                else:
                    data = whole(200, completion(reply))
                    sleep_until(begun + self.seconds)
                    self._done(call)
                    connection.sendall(data)
            except OSError:
                call.broken = True
                self._done(call)
                return False
        return True

    def _note(self, body, begun):
        text = "\n".join(str(message.get("content") or "") for message in body["messages"])
        word = WORD.search(body["messages"][-1]["content"])
        phase = body["model"]
        task = word.group(0) if word and phase in ("refine", "execute") else ""
        call = Call(phase, task, text, begun)
        with self._lock:
            self.calls.append(call)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        self.first_call.set()
        return call

    def _done(self, call):
        """Counted before the last byte leaves, so that a quick client is not blamed for an overlap."""
        if not call.ended:
            call.ended = time.monotonic()
            with self._lock:
                self._at_once -= 1

    def _stream(self, connection, call, reply):
        connection.sendall(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            + chunk(event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}))
        )
        half = len(reply) // 2
        first = chunk(event({"choices": [{"index": 0, "delta": {"content": reply[:half]}}]}))
        last = [
            {"choices": [{"index": 0, "delta": {"content": reply[half:]}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage(reply)},
        ]
        last = chunk("".join(map(event, last)) + "data: [DONE]\n\n") + b"0\r\n\r\n"
        sleep_until(call.begun + self.seconds / 2)
        connection.sendall(first)
        sleep_until(call.begun + self.seconds)
        self._done(call)
        connection.sendall(last)

    def _reply(self, call):
        if call.phase == "plan":
            return plan(self.steps, self.tasks)
        if call.phase == "refine":
            return refinement(call.task)
        if call.phase == "execute":
            return execution(call.task)
        return "## Tasks\n"


def plan(steps, tasks):
    """Tasks of a skill whose tools need arguments, so that every one is refined."""
    lines = ["## Goals / summary", "Find the places.", "", "**plan complete**", "", "## Tasks"]
    for step in range(1, steps + 1):
        lines += ["", f"### Task section {step}"]
        for task in range(1, tasks + 1):
            word = f"find-{step:02}-{task:02}"
            lines += [
                f"- **Name** {word.replace('-', ' ').capitalize()}",
                f"- **What is needed** Where {word} stands.",
                "- **Skill** find_code",
                "- **Expected output** One place.",
                "",
            ]
    return "\n".join(lines)


def refinement(word):
    """Every second task reads a file by a tool call, the others by a reference."""
    need = f"## Task\n- **What is needed** The line where {word} stands.\n"
    if word[-1:] in "02468":
        call = {"name": "read_file", "id": "c1", "arguments": {"path": "notes.md"}}
        return f"{need}## Tool Calls\n```json\n{json.dumps(call)}\n```\n"
    return f"{need}- **References** [Notes](notes.md)\n"


def execution(word):
    return f"## Result summary\n{word} stands in [the notes](notes.md#L1).\n"


def usage(reply):
    return {"prompt_tokens": 1000, "completion_tokens": len(reply) // 4}


def completion(reply):
    message = {"role": "assistant", "content": reply}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage(reply)}


def event(value):
    return f"data: {json.dumps(value)}\n\n"


def chunk(text):
    data = text.encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


def whole(status, value):
    data = json.dumps(value).encode()
    head = f"HTTP/1.1 {status} Bench\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    return head.encode() + data


def read_request(connection):
    """Path and body; `None` when the client is gone."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(":", 1) for line in lines[1:])
    length = int(headers.get("content-length", "0"))
    while len(body) < length:
        more = connection.recv(65536)
        if not more:
            return None
        body += more
    return lines[0].split(" ")[1], body


def sleep_until(moment):
    rest = moment - time.monotonic()
    if rest > 0:
        time.sleep(rest)
