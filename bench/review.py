#!/usr/bin/env python3
"""What a model says of good and of empty results: `bench/review.py --server http://127.0.0.1:8080`.

The replies are those of the book of real replies: execution replies that a person refuses for their meaning alone are empty talk,
those that a person accepts are good. For each of them the built binary runs its task with `--set review=always` and a scripted model that
gives the reply, and records the prompt of the review. A llama.cpp server with the model to be measured answers that prompt under
the grammar of a review. Before it is asked, the server gets the prompt of the execution, as it would in a run, so that the
tokens of the review are those that are not in its cache. Greedy.

`--dry` asks no server: it prints what would be asked.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from harness import ROOT, binary

BOOK = ROOT / "crates/callsheet-format/fixtures/book"
FORM = ROOT / "crates/callsheet-format/fixtures/grammar/review_of_result.expect"
SCRIPT = """[[rule]]
phase = "execute"
text_file = "reply.md"
[[rule]]
phase = "review"
text = "yes"
[[rule]]
text = "nothing"
"""


def ask(server, path, body):
    data = json.dumps(body).encode()
    request = urllib.request.Request(server + path, data, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=3600))


def header(path):
    """The header lines of a case, as pairs, and its sheet."""
    head, _, sheet = path.read_text().partition("\n\n")
    return [line.split(": ", 1) for line in head.splitlines()], sheet


def is_plain(keys, sheet):
    """One task that reads files: what is asked of it needs nothing of earlier tasks and no tools."""
    others = {"skill", "done", "failed", "written", "taken"}
    skills = ("read_files", "answer_from_documents")
    named = any(f"- **Skill** {skill}\n" in sheet for skill in skills)
    return sheet.count("- **What is needed**") == 1 and named and not any(key in others for key, _ in keys)


def entries():
    """Empty and good replies with their cases, in the order of their names."""
    empty, good = [], []
    for path in sorted((BOOK / "execution").glob("*.txt")):
        judged = path.with_suffix(".expect").read_text().split("\n", 1)[0].removeprefix("judged: ")
        read = path.with_suffix(".expect").read_text().split("\nread: ", 1)[1]
        case = path.with_name("-".join(path.stem.split("-")[2:-1]) + ".case")
        keys, sheet = header(case)
        # What code refuses never comes to a review.
        if not is_plain(keys, sheet) or not read.startswith("accepted"):
            continue
        if judged.startswith("refuse by meaning"):
            empty.append((path, dict(keys), sheet))
        elif judged.startswith("accept"):
            good.append((path, dict(keys), sheet))
    return empty, good


def sampled(found, most):
    """At most so many, evenly over all."""
    return found if len(found) <= most else [found[index * len(found) // most] for index in range(most)]


def recorded(reply, keys, sheet):
    """The requests of the execution and of its review, as they are sent; `None` if there is no review."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        world = folder / keys["world"]
        shutil.copytree(BOOK / "world" / keys["world"], world)
        (folder / "reply.md").write_text(reply.read_text())
        (folder / "script.toml").write_text(SCRIPT)
        (folder / "work.md").write_text(f"## Original prompt\n{keys['request']}\n\n{sheet}")
        command = [binary(), "run", "--sheet", str(folder / "work.md"), "--set", "review=always", "--set", "refine=never"]
        command += ["--set", "iterate=never", "--model", f"scripted:{folder / 'script.toml'}", "--record", str(folder / "tape")]
        home = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "CALLSHEET_HOME": str(folder / "home")}
        subprocess.run(command, cwd=world, env=home, check=False, capture_output=True)
        calls = {"execute": None, "review": None}
        for path in sorted((folder / "tape").glob("*.json")):
            request = json.loads(path.read_text())["request"]
            calls[request["label"].split()[0]] = request
        # The folder differs from run to run; nothing else may.
        texts = {phase: json.dumps(call).replace(str(folder), "/srv") for phase, call in calls.items()}
        return json.loads(texts["execute"]), json.loads(texts["review"])


def prompt(server, request):
    """The prompt as the model's own template has it, with the mark of its turn."""
    messages = [{"role": "system", "content": request["system"]}]
    for message in request["messages"]:
        messages.append({"role": message["role"], "content": message["text"]})
    return ask(server, "/apply-template", {"messages": messages})["prompt"]


def grammar():
    return FORM.read_text().split("=== gbnf\n", 1)[1].split("=== lark\n", 1)[0]


def reviewed(server, execution, review, slot):
    """The verdict, tokens of its prompt, of these in the cache, and of the reply, and milliseconds."""
    common = {"temperature": 0.0, "cache_prompt": True, "id_slot": slot}
    ask(server, "/completion", {"prompt": prompt(server, execution), "n_predict": 1, **common})
    body = {"prompt": prompt(server, review), "n_predict": 120, "grammar": grammar(), **common}
    begun = time.monotonic()
    reply = ask(server, "/completion", body)
    cached = reply["tokens_cached"] if "timings" not in reply else reply["timings"].get("cache_n", 0)
    read = reply["timings"]["prompt_n"] + cached
    return reply["content"].strip(), read, cached, reply["tokens_predicted"], 1000 * (time.monotonic() - begun)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", help="address of a llama.cpp server")
    parser.add_argument("--dry", action="store_true", help="print the prompts of the reviews and ask nobody")
    parser.add_argument("--empty", type=int, default=36, help="empty replies at most")
    parser.add_argument("--good", type=int, default=40, help="good replies at most")
    parser.add_argument("--minutes", type=float, default=0, help="stop asking after so many minutes; 0: never")
    arguments = parser.parse_args()
    if not arguments.server and not arguments.dry:
        parser.error("--server or --dry is needed")
    empty, good = entries()
    print(f"{len(empty)} empty and {len(good)} good replies can be reviewed", flush=True)
    empty, good = sampled(empty, arguments.empty), sampled(good, arguments.good)
    # In turns, so that a run that is stopped has both.
    turns = sorted([(index / len(empty), True, *one) for index, one in enumerate(empty)]
                   + [(index / len(good), False, *one) for index, one in enumerate(good)], key=lambda turn: turn[:2])
    said = {True: [], False: []}
    sums, begun = [0, 0, 0, 0.0], time.monotonic()
    for _, is_empty, reply, keys, sheet in turns:
        if arguments.minutes and time.monotonic() - begun > 60 * arguments.minutes:
            print("stopped: the time is over")
            break
        execution, review = recorded(reply, keys, sheet)
        if review is None:
            print(f"not reviewed: {reply.name}")
            continue
        if arguments.dry:
            print(f"==== {reply.name}\n{review['messages'][-2]['text']}\n==== user\n{review['messages'][-1]['text']}")
            continue
        verdict, *cost = reviewed(arguments.server, execution, review, 0)
        sums = [total + one for total, one in zip(sums, cost)]
        refused = verdict.startswith("no")
        said[is_empty].append(refused)
        right = refused == is_empty
        print(f"{'right' if right else 'WRONG':<6} {'empty' if is_empty else 'good':<6} {reply.stem:<34} {verdict}", flush=True)
    count = len(said[True]) + len(said[False])
    if count:
        print(f"empty talk caught: {sum(said[True])} of {len(said[True])}")
        print(f"good results refused: {sum(said[False])} of {len(said[False])}")
        read, cached, new, ms = (total / count for total in sums)
        print(f"a review: {read:.0f} tokens of prompt, {cached:.0f} of them cached, {new:.1f} new, {ms:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
