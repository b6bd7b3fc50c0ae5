#!/usr/bin/env python3
"""What a step costs the engine itself, with nothing of Callsheet in it: the floor of a step on a cluster.

    bench/engine_floor.py ENGINE [RUNS]      needs `pip install restate-sdk hypercorn httpx`

A keyed object takes a landing of 4 KB, keeps it, and sends one call to a service, which sends the next landing: what a
run of tasks that wait for each other asks of the engine. A step is the time from one landing to the next. The settings
are those of `cluster up` on one node. Four clients begin runs of ten steps, one after the other.
"""
import asyncio, subprocess, sys, tempfile, time
from collections import defaultdict
from pathlib import Path

import httpx
import hypercorn.asyncio
import hypercorn.config
import restate

STEPS, CLIENTS, PAGE = 10, 4, "x" * 4096
INGRESS, ADMIN, SERVICE = 18080, 19070, 19080
SETTINGS = f"""bind-address = "127.0.0.1:15122"
disable-telemetry = true
default-num-partitions = 4
rocksdb-total-memory-size = "256.0 MiB"
log-filter = "warn"
[admin]
disable-web-ui = true
bind-address = "127.0.0.1:{ADMIN}"
[ingress]
bind-address = "127.0.0.1:{INGRESS}"
"""

landed, ended = defaultdict(list), {}
run, work = restate.VirtualObject("run"), restate.Service("work")


@run.handler()
async def land(ctx: restate.ObjectContext, step: int) -> None:
    landed[ctx.key()].append(time.monotonic())
    ctx.set(f"page-{step}", PAGE)
    if step < STEPS:
        ctx.service_send(do, {"run": ctx.key(), "step": step})
    elif ctx.key() in ended:
        ended[ctx.key()].set()


@work.handler()
async def do(ctx: restate.Context, task: dict) -> None:
    ctx.object_send(land, task["run"], task["step"] + 1)


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))] * 1000


async def ready(client, url):
    for _ in range(600):
        try:
            if (await client.get(url)).status_code < 500:
                return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.1)
    raise SystemExit("the engine did not start")


async def measure(runs):
    config = hypercorn.config.Config()
    config.bind, config.accesslog, config.errorlog = [f"127.0.0.1:{SERVICE}"], None, None
    done = asyncio.Event()
    app = restate.app([run, work])
    served = asyncio.create_task(hypercorn.asyncio.serve(app, config, shutdown_trigger=done.wait))
    async with httpx.AsyncClient(timeout=60) as client:
        await ready(client, f"http://127.0.0.1:{ADMIN}/health")
        await ready(client, f"http://127.0.0.1:{INGRESS}/restate/health")
        made = await client.post(f"http://127.0.0.1:{ADMIN}/deployments", json={"uri": f"http://127.0.0.1:{SERVICE}"})
        made.raise_for_status()

        async def one(name):
            ended[name] = asyncio.Event()
            (await client.post(f"http://127.0.0.1:{INGRESS}/run/{name}/land/send", json=1)).raise_for_status()
            await ended[name].wait()

        def steps(names):
            return [after - before for name in names for before, after in zip(landed[name], landed[name][1:])]

        await one("warm")
        alone = [f"alone-{n}" for n in range(3)]
        for name in alone:
            await one(name)
        begun, names = time.monotonic(), [f"many-{n}" for n in range(runs)]

        async def chain(part):
            for name in names[part::CLIENTS]:
                await one(name)

        await asyncio.gather(*(chain(part) for part in range(CLIENTS)))
        took = time.monotonic() - begun
        print(f"engine: step alone p50 {percentile(steps(alone), .5):.1f} ms, p99 {percentile(steps(alone), .99):.1f} ms; "
              f"with {CLIENTS} clients p50 {percentile(steps(names), .5):.1f} ms, p99 {percentile(steps(names), .99):.1f} ms; "
              f"{runs / took:.1f} runs/s of {STEPS} steps")
    done.set()
    await served


def main():
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "engine.toml"
        settings.write_text(SETTINGS)
        words = [sys.argv[1], "--no-logo", "--config-file", str(settings), "--base-dir", f"{folder}/data"]
        engine = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            asyncio.run(measure(runs))
        finally:
            engine.kill()
            engine.wait()


main()
