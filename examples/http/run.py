"""Starts a run over the HTTP interface, shows what waits, approves it, and prints the answer.

    callsheet serve --port 4000 &
    export CALLSHEET_TOKEN=$(callsheet serve tokens add example --may approve)
    python3 examples/http/run.py "Note the level of the water in level.md."

Needs nothing but Python 3.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

API = os.environ.get("CALLSHEET_API", "http://127.0.0.1:4000/api/v1")
TOKEN = os.environ["CALLSHEET_TOKEN"]


def call(path, body=None):
    """One request. A refusal says what is wrong and what to do."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        sys.exit(f"{problem['detail']}\n{problem.get('advice', '')}")


def approve(run):
    """Shows every gate that waits, and approves it. A real program would ask somebody."""
    waiting = call(f"/runs/{run}/waiting")
    for gate in waiting["gates"]:
        print(f"{gate['kind']}: {gate.get('task') or 'the plan'}")
        print(gate.get("diff") or "", end="")
    if waiting["gates"]:
        # The key makes it safe to send the order again. The revision says what was seen.
        order = {"key": str(uuid.uuid4()), "revision": waiting["revision"]}
        call(f"/runs/{run}/approve", {**order, "gates": [gate["gate"] for gate in waiting["gates"]]})


def main():
    request = " ".join(sys.argv[1:]) or "What is this project about?"
    run = call("/runs", {"key": str(uuid.uuid4()), "request": request})["run"]
    print(f"run {run}")
    while True:
        status = call(f"/runs/{run}")
        if status["gates"]:
            approve(run)
        elif not status["working"] and status["revision"]:
            break
        time.sleep(0.2)
    print(call(f"/runs/{run}/result")["answer"])


main()
