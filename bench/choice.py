#!/usr/bin/env python3
"""How often a model names the right skill for a small need: `bench/choice.py --server http://127.0.0.1:8080`.

The prompt is the one that Callsheet sends for a plan, recorded from the built binary with a scripted model. A llama.cpp server with
the model to be measured then continues a plan up to its `Skill` line, where a grammar allows the names of the catalog
alone, so that one need costs a few tokens. Greedy. The needs and their skills are in `bench/needs.tsv`.

Catalog wording is tried with skill files of a folder: `--skills DIR` puts them in the project's place, `--prompts DIR` prompt
templates. `--skill-first` asks for the skill before the need is written down in the task.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from harness import ROOT, binary

WORLDS = ROOT / "crates/callsheet-format/fixtures/book/world"
MARK = "the request stands here"
SCRIPT = '[[rule]]\ntext = "## Goals / summary\\nx\\n## Tasks\\n- **What is needed** x\\n- **Skill** read_files\\n"\n'


def ask(server, path, body):
    data = json.dumps(body).encode()
    request = urllib.request.Request(server + path, data, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=3600))


def recorded(world, skills, prompts):
    """The plan prompt of a world, with a mark in place of the request."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        shutil.copytree(WORLDS / world, folder / world)
        if skills:
            shutil.copytree(skills, folder / world / ".callsheet/skills")
        if prompts:
            shutil.copytree(prompts, folder / world / ".callsheet/prompts")
        (folder / "script.toml").write_text(SCRIPT)
        command = [binary(), "plan", MARK, "--model", f"scripted:{folder / 'script.toml'}"]
        command += ["--record", str(folder / "tape"), "--output", str(folder / "sheet.md")]
        home = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "CALLSHEET_HOME": str(folder / "home")}
        trust = [binary(), "trust", "--yes"]
        subprocess.run(trust, cwd=folder / world, env=home, check=False, capture_output=True)
        subprocess.run(command, cwd=folder / world, env=home, check=False, capture_output=True)
        call = json.loads((folder / "tape/0001-plan.json").read_text())["request"]
        # The date and the folder differ from run to run; nothing else may.
        return call["system"], call["messages"][0]["text"].replace(str(folder), "/srv")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="address of a llama.cpp server")
    parser.add_argument("--skills", type=Path, help="skill files to try in place of the bundled ones of the same names")
    parser.add_argument("--prompts", type=Path, help="prompt templates to try in place of the bundled ones")
    parser.add_argument("--skill-first", action="store_true", help="the skill's line stands before the need's")
    parser.add_argument("--needs", type=Path, default=ROOT / "bench/needs.tsv")
    arguments = parser.parse_args()
    rows = [line.split("\t") for line in arguments.needs.read_text().splitlines() if line]
    prompts, right = {}, 0
    for world, wanted, need in sorted(rows, key=lambda row: row[0]):
        if world not in prompts:
            prompts[world] = recorded(world, arguments.skills, arguments.prompts)
        system, user = prompts[world]
        names = re.findall(r"^- \*\*(\w+)\*\* ", system.split("## Skills")[1], re.M)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user.replace(MARK, need)}]
        prompt = ask(arguments.server, "/apply-template", {"messages": messages})["prompt"]
        prompt += f"## Goals / summary\n{need}\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Task 1\n"
        if not arguments.skill_first:
            prompt += f"- **What is needed** {need}\n"
        prompt += "- **Skill**"
        grammar = 'root ::= " " (' + " | ".join(f'"{name}"' for name in names) + ') "\\n"'
        body = {"prompt": prompt, "n_predict": 12, "temperature": 0.0, "cache_prompt": True, "grammar": grammar}
        chosen = ask(arguments.server, "/completion", body)["content"].strip()
        is_right = chosen in wanted.split("|")
        right += is_right
        print(f"{'right' if is_right else 'WRONG':<6} {wanted:<24} {chosen:<24} {need}", flush=True)
    print(f"{right} of {len(rows)} right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
