"""Who does the jobs: Callsheet, one plain call, and a minimal ReAct loop."""

import json
import math
import os
import re
import shlex
import subprocess
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import graders

SIDES = ("callsheet", "plain", "react")
REPLY_TOKENS = 1500
STEPS = 12
SHOWN = 3000
WORDS = Path(__file__).resolve().parent / "prompts"
PROGRAMS = ("cargo", "cat", "grep", "head", "ls", "make", "pytest", "python", "python3", "tail", "wc")
OURS = ("CALLSHEET_", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


@dataclass
class Ended:
    """How a side ended a job. It claims success if it says that it did what was asked for."""

    answer: str
    claims: bool
    exit: int
    note: str = ""


@dataclass
class Server:
    """What a side must know of the server."""

    base_url: str
    model: str
    dialect: str
    window: int


def ask(server, messages, seconds, stop=None):
    """One chat completion; its text, and whether it came to its end."""
    body = {"model": server.model, "messages": messages, "max_tokens": REPLY_TOKENS}
    if stop:
        body["stop"] = stop
    data = json.dumps(body).encode()
    request = urllib.request.Request(server.base_url + "/v1/chat/completions", data, {"Content-Type": "application/json"})
    choice = json.load(urllib.request.urlopen(request, timeout=max(1, seconds)))["choices"][0]
    return choice["message"].get("content") or "", choice.get("finish_reason") == "stop"


def callsheet(job, project, home, server, clock, binary):
    config = [
        'model = "bench/' + server.model + '"', "[providers.bench]", f'dialect = "{server.dialect}"', "slots = 1",
        f'base_url = "{server.base_url}/v1"', f"window = {server.window}",
        f"first_byte_seconds = {clock.seconds}", f"idle_seconds = {clock.seconds}",
    ]
    (home / "config.toml").write_text("\n".join(config) + "\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    environment["CALLSHEET_HOME"] = str(home)
    command = [binary, "run", job.request, "--approval", "never", "--plain", "--set", f"limits.run_timeout_seconds={clock.seconds}"]
    said, noted = home / "stdout.txt", home / "stderr.txt"
    try:
        with said.open("wb") as stdout, noted.open("wb") as stderr:
            # A little more than its own limit, so that it can end by itself.
            code = subprocess.run(
                command, cwd=project, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                timeout=clock.seconds + 30,
            ).returncode
    except subprocess.TimeoutExpired:
        return Ended(said.read_text(errors="replace"), False, -1, "killed at the time limit")
    return Ended(said.read_text(errors="replace"), code == 0, code, skills_of(project))


def skills_of(project):
    """The skills of a run, as its sheet names them."""
    text = "".join(sheet.read_text(errors="replace") for sheet in project.glob(".callsheet/runs/*/sheet.md"))
    return " ".join(re.findall(r"^- \*\*Skill\*\* (\S+)", text, re.M))


def plain(job, project, home, server, clock, _binary):
    """The whole project where it fits, else the best files. The project stands first, so that jobs share it in the cache."""
    files = {path: content.decode(errors="replace") for path, content in graders.files_of(project).items()}
    # Three characters a token is a careful guess for prose and code.
    room = (server.window - REPLY_TOKENS - 500) * 3
    text = shown_files(files, best(files, job.request, room))
    system = (WORDS / "plain.md").read_text().replace("{{files}}", text)
    messages = [{"role": "system", "content": system}, {"role": "user", "content": job.request}]
    try:
        answer, complete = ask(server, messages, clock.left())
    except (OSError, KeyError, ValueError) as problem:
        return Ended("", False, 1, str(problem))
    for path, content in written_files(answer).items():
        file = inside(project, path)
        if file is not None:
            write(file, content)
    return Ended(answer, complete, 0 if complete else 1)


def shown_files(files, paths):
    return "\n\n".join(f"FILE: {path}\n```\n{files[path].rstrip()}\n```" for path in paths)


def best(files, request, room):
    """The paths to show, in the project's order: all that fit, those first that share rare words with the request (BM25)."""
    if len(shown_files(files, files)) <= room:
        return list(files)
    words = {path: Counter(terms(f"{path} {text}")) for path, text in files.items()}
    usual = sum(sum(count.values()) for count in words.values()) / len(words)

    def score(path):
        total, length = 0.0, sum(words[path].values())
        for term in set(terms(request)):
            having = sum(term in count for count in words.values())
            weight = math.log(1 + (len(words) - having + 0.5) / (having + 0.5))
            often = words[path][term]
            total += weight * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length / usual))
        return -total

    chosen = []
    for path in sorted(files, key=score):
        if len(shown_files(files, [*chosen, path])) <= room:
            chosen.append(path)
    return sorted(chosen)


def terms(text):
    return re.findall(r"[a-z0-9]{2,}", text.lower())


def written_files(answer):
    """`FILE: path`, then the content in a fence. The path may also be the first line in the fence, fences may stand in
    fences, and one that never closes ends with the text."""
    found, path, ticks, depth, lines = {}, None, "", 0, []
    for line in answer.splitlines():
        fence = re.match(r"\s*(`{3,})\s*(\S*)", line)
        named = re.search(r"\bFILE:[ *`]*([^\s*`]+)", line)
        if depth == 0:
            if fence:
                ticks, depth, lines = fence[1], 1, []
            elif line.strip():
                path = named and named[1]
        elif named and not path and not lines:
            path = named[1]
        else:
            ours = fence and fence[1] == ticks
            depth += (1 if fence[2] else -1) if ours else 0
            if depth:
                lines.append(line)
            elif path:
                found[path], path = "\n".join(lines) + "\n", None
    if depth and path:
        found[path] = "\n".join(lines) + "\n"
    return found


def inside(project, path):
    """A path of the project, or nothing if it leads out of it."""
    file = (project / path).resolve()
    return file if not Path(path).is_absolute() and file.is_relative_to(project.resolve()) else None


def write(file, content):
    if not file.is_dir():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")


def react(job, project, home, server, clock, _binary):
    messages = [{"role": "system", "content": (WORDS / "react.md").read_text()}, {"role": "user", "content": job.request}]
    reply = ""
    for _ in range(STEPS):
        try:
            reply, _complete = ask(server, messages, clock.left(), stop=["Observation:"])
        except (OSError, KeyError, ValueError) as problem:
            return Ended(reply, False, 1, str(problem))
        act = action(reply)
        if act and act[0] == "final":
            return Ended(act[1], True, 0)
        seen = perform(project, *act) if act else "There is no action in this. Write `Action:` with `Input:`, or `Final:`."
        messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": f"Observation: {seen[:SHOWN]}"}]
    return Ended(reply, False, 1, f"no end after {STEPS} steps")


def action(reply):
    """The first action of a reply with its input, or the final answer."""
    final = re.search(r"^[ *]*Final(?: Answer)?[ *]*:[ *]*(.*)", reply, re.M | re.S | re.I)
    act = re.search(r"^[ *]*Action[ *]*:[ *`]*(\w+)", reply, re.M | re.I)
    if act and not (final and final.start() < act.start()):
        given = next((value for value in graders.json_values(reply[act.end():]) if isinstance(value, dict)), {})
        return act.group(1).lower(), given
    return ("final", final.group(1).strip()) if final else None


def perform(project, name, given):
    tool = {"read_file": read_file, "list": list_files, "search": search, "write_file": write_file, "run_command": run_command}
    if name not in tool:
        return f"There is no tool {name}; there are {', '.join(tool)}."
    try:
        return tool[name](project, given) or "(nothing)"
    except (OSError, KeyError, TypeError, AttributeError, ValueError, subprocess.SubprocessError) as problem:
        return f"{type(problem).__name__}: {problem}"


def path_of(project, given):
    file = inside(project, given.get("path") or ".")
    if file is None:
        raise ValueError("the path leads out of the project")
    return file


def read_file(project, given):
    return path_of(project, given).read_text(encoding="utf-8")


def list_files(project, given):
    below = path_of(project, given).relative_to(project.resolve()).as_posix()
    return "\n".join(path for path in graders.files_of(project) if below == "." or path.startswith(below + "/"))


def search(project, given):
    wanted = str(given["text"]).lower()
    found = []
    for path, content in graders.files_of(project).items():
        lines = enumerate(content.decode(errors="replace").splitlines(), 1)
        found += [f"{path}:{number}: {line.strip()}" for number, line in lines if wanted in line.lower()]
    return "\n".join(found[:40])


def write_file(project, given):
    write(path_of(project, given), str(given["content"]))
    return f"{given['path']} is written."


def run_command(project, given):
    words = shlex.split(str(given["command"]))
    if not words or words[0] not in PROGRAMS:
        return f"Only these programs can be run: {', '.join(PROGRAMS)}."
    ended = subprocess.run(words, cwd=project, capture_output=True, text=True, errors="replace", timeout=60, stdin=subprocess.DEVNULL)
    return f"exit code {ended.returncode}\n{ended.stdout}{ended.stderr}"
