"""The jobs, and what decides whether one was done: code, never a model, and never the wording."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECTS = ("boathouse", "till", "gauge", "pressday", "cinema")
KINDS = ("named", "unnamed", "compare", "folder", "find", "write", "change", "fix", "check", "extract", "steps")
HALVES = ("tuned", "held-out")
# What tools leave behind; everything else that changes is a change.
LEFT_BEHIND = ("__pycache__", "target", "Cargo.lock")
SECONDS = 120


@dataclass
class Job:
    """One request with its graders. `bench/jobs.md` says what the fields mean."""

    id: str
    project: str
    kind: str
    half: str
    request: str
    says: list = field(default_factory=list)
    silent: list = field(default_factory=list)
    some: int = 0
    of: list = field(default_factory=list)
    json: object = None
    only: list = field(default_factory=list)
    file: list = field(default_factory=list)
    passes: str = ""
    code: str = ""
    run: list = field(default_factory=list)
    good: list = field(default_factory=list)
    bad: list = field(default_factory=list)

    @property
    def folder(self):
        return HERE / "projects" / self.project

    def demanded(self):
        return [file["path"] for file in self.file]


def load():
    jobs = []
    for project in PROJECTS:
        # The held-out jobs stand apart: who improves something can read the others without seeing them.
        for file in filter(Path.exists, (HERE / f"{project}.toml", HERE / "held-out" / f"{project}.toml")):
            rows = tomllib.loads(file.read_text(encoding="utf-8"))["job"]
            jobs += [Job(project=project, **row) for row in rows]
    return jobs


def grade(job, after, answer):
    """What is wrong with an answer and the folder it left; nothing if the job was done."""
    wrong = text_faults("the answer", answer, vars(job))
    if job.some:
        found = sum(matches(pattern, plain(answer)) for pattern in job.of)
        if found < job.some:
            wrong.append(f"the answer has {found} of the facts, not {job.some}")
    wrong += [f"{path} was changed" for path in changed(job.folder, after) if path not in job.only]
    for file in job.file:
        wrong += file_faults(job, after, file)
    # Running what is there costs most and says least where something is missing.
    return wrong or run_faults(job, after)


def untouched(job, after):
    """Demanded files that are missing, or as they were."""
    changes = changed(job.folder, after)
    return [path for path in job.demanded() if path not in changes or not (after / path).is_file()]


def text_faults(what, text, wanted):
    shown = plain(text)
    wrong = [f"{what} does not say /{pattern}/" for pattern in wanted.get("says", []) if not matches(pattern, shown)]
    wrong += [f"{what} says /{pattern}/" for pattern in wanted.get("silent", []) if matches(pattern, shown)]
    value = wanted.get("json")
    if value is not None:
        value = json.loads(value) if isinstance(value, str) else value
        if not any(same(value, found) for found in json_values(text)):
            wrong.append(f"{what} does not hold the JSON that is asked for")
    return wrong


def file_faults(job, after, file):
    path = file["path"]
    if path in untouched(job, after):
        return [f"{path} is missing or unchanged"]
    text = (after / path).read_text(encoding="utf-8", errors="replace")
    wrong = text_faults(path, text, file)
    if file.get("keeps"):
        kept = {squeezed(line) for line in text.splitlines()}
        for line in (job.folder / path).read_text(encoding="utf-8").splitlines():
            may_go = any(words in line for words in file.get("but", [])) or not re.search(r"\w", line)
            if not may_go and squeezed(line) not in kept:
                wrong.append(f"{path} lost the line: {line.strip()}")
    return wrong


def run_faults(job, after):
    if not (job.passes or job.code or job.run):
        return []
    with tempfile.TemporaryDirectory(prefix="callsheet-jobs-") as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(after, copy, ignore=shutil.ignore_patterns(".*", *LEFT_BEHIND))
        if (job.folder / "tests").is_dir():
            # The tests as they were: who changed them does not pass by that.
            shutil.rmtree(copy / "tests", ignore_errors=True)
            shutil.copytree(job.folder / "tests", copy / "tests")
        commands = [job.run] if job.run else []
        commands += [["python3", "-c", job.code]] if job.code else []
        commands += test_commands(job.project, copy, Path(folder)) if job.passes else []
        for command in commands:
            fault = run_fault(command, copy)
            if fault:
                return [fault]
    return []


def test_commands(project, copy, folder):
    if project == "till":
        return [["python3", "-m", "unittest", "discover", "-s", "tests"]]
    # Without cargo: no lock, no target folder, half the time.
    library = str(folder / f"lib{project}.rlib")
    rustc = ["rustc", "--edition", "2021", "-A", "warnings", "--crate-name"]
    commands = [[*rustc, project, "--crate-type", "lib", "src/lib.rs", "-o", library]]
    for file in sorted((copy / "tests").glob("*.rs")):
        program = str(folder / file.stem)
        test = [*rustc, file.stem, "--test", str(file), "--extern", f"{project}={library}", "-o", program]
        commands += [test, [program]]
    return commands


def run_fault(command, folder):
    environment = {**os.environ, "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"{command[0]} ran longer than {SECONDS} s"
    return f"{command[0]} failed: {(ended.stdout + ended.stderr)[-300:].strip()}" if ended.returncode else ""


def plain(text):
    """The words of a text, whatever its markup: no emphasis, no code marks, no marks of thousands."""
    text = text.replace("\\_", "_").replace("\u00a0", " ").replace("\u202f", " ").translate({0x2018: "'", 0x2019: "'"})
    text = re.sub(r"[*`]", "", text)
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    return re.sub(r"[ \t]+", " ", text)


def matches(pattern, text):
    return re.search(pattern, text, re.I | re.S) is not None


def squeezed(line):
    return re.sub(r"\s+", "", line)


def json_values(text):
    """Every JSON list or object of a text, outermost ones only."""
    decoder, at = json.JSONDecoder(), 0
    while (start := re.compile(r"[\[{]").search(text, at)) is not None:
        try:
            value, at = decoder.raw_decode(text, start.start())
            yield value
        except ValueError:
            at = start.end()


def same(wanted, found):
    """Equal in value and type; the order of a list's objects does not matter."""
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        rest = list(found)
        for item in wanted:
            match = next((other for other in rest if same(item, other)), None)
            if match is None and item is not None:
                return False
            rest.remove(match)
        return True
    if isinstance(wanted, dict) and isinstance(found, dict):
        return wanted.keys() == found.keys() and all(same(value, found[key]) for key, value in wanted.items())
    if isinstance(wanted, bool) or isinstance(found, bool) or isinstance(wanted, (list, dict)):
        return wanted is found
    numbers = isinstance(wanted, (int, float)) and isinstance(found, (int, float))
    return wanted == found if numbers else type(wanted) is type(found) and wanted == found


def files_of(folder):
    """The files of a project with their contents, without hidden ones and what tools leave behind."""
    found = {}
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        hidden = any(part.startswith(".") or part in LEFT_BEHIND for part in parts)
        if file.is_file() and not hidden:
            found["/".join(parts)] = file.read_bytes()
    return found


def changed(before, after):
    """Paths that were added, changed or removed; a last line end more or less is no change."""
    old, new = files_of(before), files_of(after)
    return sorted(path for path in old.keys() | new.keys() if trimmed(old.get(path)) != trimmed(new.get(path)))


def trimmed(content):
    return content if content is None else content.rstrip()
