"""Checks the jobs and the bench itself, offline: every grader against its good and bad samples, the readers, the table."""

import json
import shutil
import tempfile
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import graders
import meter
import sides
import table

PROMPT_BYTES = 20_000


def check(jobs):
    """What is wrong, one line each."""
    wrong = balance(jobs)
    for job in jobs:
        wrong += [f"{job.id}: no {name} sample" for name in ("good", "bad") if not getattr(job, name)]
        wrong += [f"{job.id}: its good sample is refused: {faults}" for faults in refused(job, job.good) if faults]
        wrong += [f"{job.id}: bad sample {n} is accepted" for n, faults in enumerate(refused(job, job.bad)) if not faults]
    return wrong + readers() + counting() + rivals(jobs) + aims()


def balance(jobs):
    wrong = []
    names = Counter(job.id for job in jobs)
    wrong += [f"{name} is there twice" for name, count in names.items() if count > 1]
    for key, values in (("kind", graders.KINDS), ("project", graders.PROJECTS)):
        halves = Counter((getattr(job, key), job.half) for job in jobs)
        # Some projects have held-out jobs only.
        needed = graders.HALVES if key == "kind" else ["held-out"]
        wrong += [f"{value}: no job {half}" for value in values for half in needed if halves[value, half] < 1]
        wrong += [f"unknown {key} or half: {value}, {half}" for value, half in halves if value not in values or half not in graders.HALVES]
    for project in graders.PROJECTS:
        size = sum(len(content) for content in graders.files_of(graders.HERE / "projects" / project).values())
        if size > PROMPT_BYTES:
            wrong.append(f"{project} has {size} bytes: too many for one prompt")
    return wrong


def refused(job, samples):
    """What the grader says of each sample."""
    for sample in samples:
        sample = {"answer": sample} if isinstance(sample, str) else sample
        with tempfile.TemporaryDirectory(prefix="callsheet-jobs-") as folder:
            after = Path(folder) / "project"
            shutil.copytree(job.folder, after)
            for path, text in sample.get("write", {}).items():
                (after / path).parent.mkdir(parents=True, exist_ok=True)
                (after / path).write_text(text, encoding="utf-8")
            for path, (old, new) in sample.get("replace", {}).items():
                text = (after / path).read_text(encoding="utf-8")
                assert old in text, f"{job.id}: {path} has no {old!r}"
                (after / path).write_text(text.replace(old, new), encoding="utf-8")
            yield graders.grade(job, after, sample["answer"])


def readers():
    """The forms in which the rivals write and act."""
    wrong = []
    written = {
        "FILE: a.md\n```\none\n```\nDone.": {"a.md": "one\n"},
        "**FILE: `docs/a.md`**\n\n````markdown\n```\nx\n```\n````": {"docs/a.md": "```\nx\n```\n"},
        "### FILE: a.py\n```python\nx = 1\n```\nand FILE: b.py\n```\ny\n": {"a.py": "x = 1\n", "b.py": "y\n"},
        "```md\nFILE: a.md\n# A\n```": {"a.md": "# A\n"},
        "FILE: a.md\n```md\n# A\n```sh\nls\n```\nB\n```": {"a.md": "# A\n```sh\nls\n```\nB\n"},
        "I keep FILE: a.md.\nFor example:\n```\nx\n```": {},
        "The FILE: is missing": {},
    }
    wrong += [f"plain reads {text!r} as {sides.written_files(text)}" for text, files in written.items()
              if sides.written_files(text) != files]
    acted = {
        'Thought: look\nAction: list\nInput: {"path": "."}': ("list", {"path": "."}),
        'Action: read_file({"path": "a"})': ("read_file", {"path": "a"}),
        'Action: `search`\nAction Input: ```json\n{"text": "x"}\n```': ("search", {"text": "x"}),
        "Action: list": ("list", {}),
        "Thought: done\nFinal: It is 5.": ("final", "It is 5."),
        "Final Answer: yes": ("final", "yes"),
        "It is 5.": None,
    }
    wrong += [f"react reads {text!r} as {sides.action(text)}" for text, act in acted.items() if sides.action(text) != act]
    with tempfile.TemporaryDirectory() as folder:
        for path in ("../x", "/etc/x", "a/../../x"):
            if sides.inside(Path(folder), path) is not None:
                wrong.append(f"{path} is taken for a path of the project")
    return wrong


def counting():
    stream = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\ndata: {"choices": [], "usage": {"prompt_tokens": 90, ' \
        b'"completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}}\n\ndata: [DONE]\n'
    whole = b'{"usage": {"prompt_tokens": 90, "completion_tokens": 7}, "timings": {"prompt_n": 30, "predicted_n": 7}}'
    found = [meter.tokens(stream), meter.tokens(whole)]
    return [f"tokens are read as {tokens}" for tokens in found if tokens != (90, 60, 7)]


class Scripted(BaseHTTPRequestHandler):
    """A server that does the job `boat-status`, in the form of the side that asks."""

    text = "Kestrel is out of use. Ahlers repairs it for 480 euros."
    requests = []

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.requests.append(request)
        messages = request["messages"]
        reply = f"FILE: status.md\n```\n{self.text}\n```"
        if "Action:" in messages[0]["content"]:
            given = json.dumps({"path": "status.md", "content": self.text})
            reply = "Final: Done." if len(messages) > 2 else f"Action: write_file\nInput: {given}"
        choice = {"message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        answer = {"choices": [choice], "usage": {"prompt_tokens": 50, "completion_tokens": 5}, "timings": {"prompt_n": 20}}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Forever:
    seconds = 60

    def left(self):
        return self.seconds


def rivals(jobs):
    """Both rivals through the proxy, against a scripted server."""
    http = HTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    gate = meter.Meter(f"http://127.0.0.1:{http.server_address[1]}/v1", seed=7, mark="<!-- m -->")
    server = sides.Server(gate.base_url, "any", "openai", 8192)
    job = next(job for job in jobs if job.id == "boat-status")
    wrong = []
    for name, calls in (("plain", 1), ("react", 2)):
        with tempfile.TemporaryDirectory(prefix="callsheet-jobs-") as folder:
            project = Path(folder) / "project"
            shutil.copytree(job.folder, project)
            gate.reset()
            ended = getattr(sides, name)(job, project, Path(folder), server, Forever(), None)
            used, faults = gate.counted(), graders.grade(job, project, ended.answer)
        numbers = [used[key] for key in ("calls", "prompt", "cached", "new", "written")]
        if faults or not ended.claims or numbers != [calls, 50 * calls, 30 * calls, 20 * calls, 5 * calls]:
            wrong.append(f"{name}: {ended}, {numbers}, {faults}")
    marked = [request["messages"][0]["content"].startswith("<!-- m -->\n") for request in Scripted.requests]
    if not all(marked) or {request["seed"] for request in Scripted.requests} != {7}:
        wrong.append("a request without its mark or seed")
    gate.close()
    http.shutdown()
    return wrong


def aims():
    """The table of made-up rows: what it must say of them."""
    def row(side, job, seed, right, false=False):
        numbers = {"calls": 1, "prompt": 9, "cached": 4, "new": 5, "written": 3, "wall": 1.0, "cpu": 2.0}
        fixed = {"project": job.project, "kind": job.kind, "half": job.half, "cold": False, "exit": 0}
        return {"side": side, "job": job.id, "seed": seed, "right": right, "false_success": false, **fixed, **numbers}

    jobs = graders.load()
    rows = [row(side, job, seed, side == "callsheet") for side in sides.SIDES for job in jobs for seed in (1, 2, 3)]
    wrong = []
    if not all(passed for passed, _ in table.aims(jobs, rows)):
        wrong.append("aims that are met fail")
    rows[0]["false_success"] = rows[1]["false_success"] = rows[2]["false_success"] = True
    held = [found for found in rows if found["side"] == "callsheet" and found["half"] == "held-out"]
    held[0]["false_success"] = True
    if all(passed for passed, _ in table.aims(jobs, rows)):
        wrong.append("a false success is not seen")
    every = f"{len(jobs)} {len(jobs)} {len(jobs)} of {len(jobs)}"
    if every not in table.text(jobs, rows):
        wrong.append(f"the table does not say {every}")
    if "Not to be published" not in table.text(jobs, [found for found in rows if found["seed"] < 3]):
        wrong.append("two seeds make a table that is published")
    if not 0.05 < table.wilson(1 / 6, 24)[0] < 1 / 6 < table.wilson(1 / 6, 24)[1] < 0.4:
        wrong.append("the interval of Wilson is wrong")
    gain, low, high = table.difference(rows[: 3 * len(jobs)], [found for found in rows if found["side"] == "plain"])
    if not low <= gain <= high or gain != 1.0:
        wrong.append("the paired difference is wrong")
    return wrong
