"""A proxy in front of the server: all sides are counted alike, get the same seed, and start with the same cold cache.

It adds `seed` to every request, and a short mark to the front of the system message. Prompts share a cached prefix only under the
same mark, so a new mark makes the next call cold, whatever the server kept.
"""

import http.client
import json
import os
import re
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

DROPPED = ("connection", "content-length", "transfer-encoding", "host", "accept-encoding")
SECONDS = 3600


def tokens(answer):
    """Tokens read, of these cached, and written, as the server counts them; a stream or an answer in one piece."""
    usage, timings = {}, {}
    for line in answer.decode(errors="replace").splitlines():
        try:
            value = json.loads(line.removeprefix("data:").strip())
        except ValueError:
            continue
        if isinstance(value, dict):
            usage = value.get("usage") or usage
            timings = value.get("timings") or timings
    read = usage.get("prompt_tokens", timings.get("prompt_n", 0))
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    if cached is None:
        cached = read - timings.get("prompt_n", read)
    return read, cached, usage.get("completion_tokens", timings.get("predicted_n", 0))


class Meter:
    """Listens on a free port of the loopback until `close`; `base_url` is what a side is given."""

    def __init__(self, server, seed=1, mark="", temperature=None):
        self.server = urllib.parse.urlsplit(server.rstrip("/").removesuffix("/v1"))
        self.seed, self.mark, self.temperature = seed, mark, temperature
        self._lock = threading.Lock()
        self._in_flight = 0
        self.pid = pid_of(self.server.port or 80) if self.server.hostname in ("127.0.0.1", "localhost", "::1") else None
        meter = self

        class Handler(Exchange):
            pass

        Handler.meter = meter
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        self.reset()

    def reset(self):
        """Restarts the count."""
        with self._lock:
            self.calls = self.prompt = self.cached = self.written = 0
            self.log = []
            self.lost = ""
        self._cpu = self.cpu_now()
        self._begun = time.monotonic()

    def counted(self):
        """What was used since `reset`."""
        while self._in_flight:
            time.sleep(0.05)
        cpu = self.cpu_now()
        with self._lock:
            return {
                "calls": self.calls, "prompt": self.prompt, "cached": self.cached, "new": self.prompt - self.cached,
                "written": self.written, "wall": round(time.monotonic() - self._begun, 2),
                "cpu": None if cpu is None else round(cpu - self._cpu, 2),
            }

    def cpu_now(self):
        """CPU seconds of the server's process so far; nothing of a server elsewhere."""
        if self.pid is None:
            return None
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def prepared(self, path, body):
        """The request as the server gets it."""
        if "completions" not in path or not body:
            return body
        request = json.loads(body)
        request["seed"] = self.seed
        if self.temperature is not None:
            request["temperature"] = self.temperature
        if request.get("stream"):
            request.setdefault("stream_options", {})["include_usage"] = True
        for message in request.get("messages", [])[:1]:
            if isinstance(message.get("content"), str):
                message["content"] = f"{self.mark}\n{message['content']}"
        return json.dumps(request).encode()

    def enter(self, step):
        with self._lock:
            self._in_flight += step

    def note(self, path, body, answer):
        if "completions" not in path or not body:
            return
        read, cached, written = tokens(answer)
        with self._lock:
            self.calls += 1
            self.prompt += read
            self.cached += cached
            self.written += written
            self.log.append({"request": json.loads(body), "answer": answer.decode(errors="replace")})

    def close(self):
        self._http.shutdown()
        self._http.server_close()


class Exchange(BaseHTTPRequestHandler):
    """One request, passed on with its answer as it comes."""

    protocol_version = "HTTP/1.1"
    meter = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.exchange(b"")

    def do_POST(self):
        self.exchange(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def exchange(self, body):
        meter = self.meter
        meter.enter(1)
        answer, asking = b"", True
        server = http.client.HTTPConnection(meter.server.hostname, meter.server.port or 80, timeout=SECONDS)
        try:
            body = meter.prepared(self.path, body)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in DROPPED}
            server.request(self.command, meter.server.path + self.path, body or None, headers)
            reply = server.getresponse()
            asking = False
            self.send_response(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in DROPPED:
                    self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            while data := reply.read1(65536):
                answer += data
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        except (OSError, http.client.HTTPException) as problem:
            # The side hung up, which is its own affair; or the server is gone, which says nothing about the side.
            self.close_connection = True
            if asking:
                meter.lost = f"the server does not answer: {problem}"
        finally:
            server.close()
            meter.note(self.path, body, answer)
            meter.enter(-1)


def pid_of(port):
    """The process that listens on a port of this machine."""
    sockets = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
        except OSError:
            continue
        sockets |= {f"socket:[{row[9]}]" for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port}
    for handle in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(handle) in sockets:
                return int(re.match(r"/proc/(\d+)", str(handle)).group(1))
        except OSError:
            continue
    return None
