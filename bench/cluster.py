#!/usr/bin/env python3
"""Steps and small runs on a cluster, beside local runs. A model that answers at once shows what the machinery costs.

    bench/cluster.py CALLSHEET ENGINE [RUNS]
    bench/cluster.py CALLSHEET ENGINE growth RUNS WORKERS

The second form makes many runs and says after each tenth of them how much memory and disk the parts hold.

CALLSHEET is the built program with the feature `cluster`, ENGINE the program restate-server. A step is the time from the
start of a task's call to the start of the next task's call, by the times in the log.
"""
import json, os, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

TASKS, CLIENTS = 10, 4
# Independent calls of one run, how long each takes, and how many the provider takes at once.
CALLS, DELAY_MS, SLOTS = 192, 200, 48


def sheet(tasks):
    text = "## Original prompt\nCount.\n## Goals / summary\nCount.\n## Tasks\n"
    for n in range(1, tasks + 1):
        reads = "[Notes](notes.md)" if n == 1 else f"[Before](#step-{n - 1}-1-results)"
        text += f"### Task section {n}\n- **Name** Step {n} 1\n- **What is needed** Say {n}.\n- **Skill** read_files\n"
        text += f"- **References** {reads}\n- **Expected output** A word.\n"
    return text


def wide_sheet(tasks):
    text = "## Original prompt\nCount.\n## Goals / summary\nCount.\n## Tasks\n### Task section 1\n"
    for n in range(1, tasks + 1):
        text += f"- **Name** Step {n} 1\n- **What is needed** Say {n}.\n- **Skill** read_files\n"
        text += "- **References** [Notes](notes.md)\n- **Expected output** A word.\n\n"
    return text


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


class Bench:
    def __init__(self, program, folder):
        self.program, self.project = program, folder / "project"
        self.project.mkdir()
        (self.project / "notes.md").write_text("# Notes\nOne.\n")
        (folder / "model.toml").write_text("[[rule]]\nphase = 'execute'\ntext = '''\n## Result summary\nSaid.\n'''\n")
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "CALLSHEET_HOME": str(folder / "home"),
                    "CALLSHEET_MODEL": f"scripted:{folder / 'model.toml'}"}

    def call(self, *words):
        done = subprocess.run([self.program, *words], cwd=self.project, env=self.env, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.returncode, done.stdout[-500:], done.stderr[-500:])
        return done.stdout

    @contextmanager
    def cluster(self, engine, workers):
        words = [self.program, "--json", "cluster", "up", "--engine", engine, "--workers", str(workers)]
        up = subprocess.Popen(words, cwd=self.project, env=self.env, stdout=subprocess.PIPE, text=True)
        try:
            yield json.loads(up.stdout.readline())
        finally:
            up.terminate()
            up.wait()

    def steps(self, run, on):
        facts = [json.loads(line) for line in self.call("show", run, "--events", *on).splitlines()]
        asked = [fact["at"] for fact in facts if fact["event"] == "started" and "ask" in fact["effect"]]
        return [after - before for before, after in zip(asked, asked[1:])]

    def measure(self, what, on, runs):
        def one(n):
            self.call("run", "--sheet", "sheet.md", "--approval", "never", "--name", f"{what}-{n}", *on)
        one("warm")
        one("alone-1"), one("alone-2"), one("alone-3")
        alone = [step for n in (1, 2, 3) for step in self.steps(f"{what}-alone-{n}", on)]
        begun = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(one, range(runs)))
        took = time.monotonic() - begun
        busy = [step for n in range(runs) for step in self.steps(f"{what}-{n}", on)]
        print(f"{what}: step alone p50 {percentile(alone, .5)} ms, p99 {percentile(alone, .99)} ms; "
              f"with {CLIENTS} clients p50 {percentile(busy, .5)} ms, p99 {percentile(busy, .99)} ms; "
              f"{runs / took:.1f} runs/s of {TASKS} tasks", flush=True)


def workers_on_a_slow_model(program, engine, number):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(program, Path(folder))
        script = f"[[rule]]\nphase = 'execute'\ndelay_ms = {DELAY_MS}\ntext = '''\n## Result summary\nSaid.\n'''\n"
        (Path(folder) / "model.toml").write_text(script)
        home = Path(bench.env["HOME"])
        home.mkdir()
        (home / "config.toml").write_text(f"jobs = {SLOTS}\n[providers.scripted]\nslots = {SLOTS}\n")
        (bench.project / "sheet.md").write_text(wide_sheet(CALLS))
        with bench.cluster(engine, number) as cluster:
            bench.call("run", "--sheet", "sheet.md", "--approval", "never", "--name", "warm", "--on", cluster["on"])
            begun = time.monotonic()
            bench.call("run", "--sheet", "sheet.md", "--approval", "never", "--name", "wide", "--on", cluster["on"])
            took = time.monotonic() - begun
            print(f"{number} workers: {CALLS / took:.0f} calls/s of {DELAY_MS} ms each", flush=True)


def resident_mb(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) // 1024


def kilobytes(folder):
    return sum(path.stat().st_blocks for path in Path(folder).rglob("*") if path.is_file()) // 2


def growth(program, engine, runs, workers):
    """Many runs of ten tasks: what grows."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(program, Path(folder))
        (bench.project / "sheet.md").write_text(sheet(TASKS))
        with bench.cluster(engine, workers) as cluster:
            on = ("--on", cluster["on"])

            def one(n):
                bench.call("run", "--sheet", "sheet.md", "--approval", "never", "--name", f"many-{n}", *on)

            for part in range(10):
                begun = time.monotonic()
                numbers = range(part * runs // 10, (part + 1) * runs // 10)
                with ThreadPoolExecutor(CLIENTS) as pool:
                    list(pool.map(one, numbers))
                took = time.monotonic() - begun
                memory = {"engine": sum(map(resident_mb, cluster["engine"])), "dispatcher": resident_mb(cluster["dispatcher"]),
                          "workers": sum(map(resident_mb, cluster["workers"]))}
                data = next(Path(bench.env["HOME"]).rglob("cluster/engine"))
                disk = {"engine": kilobytes(data), "texts": kilobytes(data.parent) - kilobytes(data)}
                print(f"{numbers.stop} runs: {len(numbers) / took:.1f} runs/s, MB resident {memory}, KB on disk {disk}", flush=True)
            steps = [step for n in range(runs) for step in bench.steps(f"many-{n}", on)]
            print(f"{runs} runs, {workers} workers: step p50 {percentile(steps, .5)} ms, p99 {percentile(steps, .99)} ms", flush=True)


def main():
    if sys.argv[3:4] == ["growth"]:
        return growth(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), int(sys.argv[4]), int(sys.argv[5]))
    program, engine = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(program, Path(folder))
        (bench.project / "sheet.md").write_text(sheet(TASKS))
        bench.measure("local", (), runs)
        with bench.cluster(engine, 1) as cluster:
            on = ("--on", cluster["on"])
            bench.measure("cluster", on, runs)
            (bench.project / "sheet.md").write_text(sheet(300))
            bench.call("run", "--sheet", "sheet.md", "--approval", "never", "--name", "long", *on)
            steps = bench.steps("long", on)
            first, last = percentile(steps[:50], .5), percentile(steps[-50:], .5)
            print(f"cluster: step p50 of the first 50 of 300 tasks {first} ms, of the last 50 {last} ms", flush=True)
            for name, pid in (("engine", cluster["engine"][0]), ("dispatcher", cluster["dispatcher"]), ("worker", cluster["workers"][0])):
                print(f"{name}: {resident_mb(pid)} MB resident")
    for number in (1, 3):
        workers_on_a_slow_model(program, engine, number)


main()
