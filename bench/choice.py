#!/usr/bin/env python3
"""How often a model chooses the right skill for a request: `bench/choice.py --server http://127.0.0.1:8080`.

Each need of `bench/needs.tsv` (world, skill, need) is given to `callsheet run` in a copy of its world, with a limit of one model call: the
one that routes it. What the run recorded of it is compared with the wanted skill; `several_tasks` is a choice like another.
`bench/needs-held-out.tsv` was written by someone who did not see the prompts: measure with it, and do not tune by it (`--quiet` prints
counts only).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from pathlib import Path

from harness import ROOT, binary

WORLDS = ROOT / "crates/callsheet-format/fixtures/book/world"


def chosen(need, world, server, model):
    """What the run chose for a need: the text of the reply to its only call."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        shutil.copytree(WORLDS / world, folder / world)
        (folder / "home").mkdir()
        (folder / "home/config.toml").write_text(
            f'model = "bench/{model}"\n[providers.bench]\ndialect = "llamacpp"\nslots = 1\nbase_url = "{server}/v1"\nfirst_byte_seconds = 900\n'
        )
        home = {"PATH": os.environ["PATH"], "HOME": str(folder), "CALLSHEET_HOME": str(folder / "home")}
        command = [binary(), "run", need, "--set", "limits.max_calls=1", "--approval", "never", "--plain", "--record", folder / "tape"]
        subprocess.run(command, cwd=folder / world, env=home, check=False, capture_output=True)
        replies = sorted((folder / "tape").glob("*-route.json"))
        text = json.loads(replies[0].read_text())["outcome"]["reply"]["text"] if replies else "(no reply)"
        # Behind a colon stand the files that the request asks for.
        return text.partition(":")[0].strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="address of a llama.cpp server")
    parser.add_argument("--needs", type=Path, default=ROOT / "bench/needs.tsv")
    parser.add_argument("--quiet", action="store_true", help="only the counts")
    arguments = parser.parse_args()
    models = json.load(urllib.request.urlopen(arguments.server + "/v1/models", timeout=60))
    model = models["data"][0]["id"]
    rows = [line.split("\t") for line in arguments.needs.read_text().splitlines() if line]
    right, wanted_of = Counter(), Counter()
    for world, wanted, need in rows:
        choice = chosen(need, world, arguments.server, model)
        is_right = choice in wanted.split("|")
        wanted_of[wanted] += 1
        right[wanted] += is_right
        if not arguments.quiet:
            print(f"{'right' if is_right else 'WRONG':<6} {wanted:<24} {choice:<24} {need}", flush=True)
    for wanted, count in sorted(wanted_of.items()):
        print(f"{right[wanted]:>3} of {count:>3} {wanted}")
    print(f"{sum(right.values())} of {len(rows)} right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
