"""What execution prompts of one run have in common at their beginning, which a provider's cache reads once.

Counted is what stands before a task's own material. Skills of one kind (reading, writing, step by step) have one form of reply.
"""

import itertools
import os

from harness import Figure, Project
from server import Server

KINDS = {
    "reading": ("read_files", "answer_from_documents", "review_change"),
    "writing": ("write_document", "edit_document", "edit_code"),
}
README = "# Boats\n\nThe club lends six boats. A small program keeps the list of who has which boat, and prints it for the board at the door.\n"


def measure(program):
    prompts = execution_prompts(program)
    figures = []
    for kind, skills in KINDS.items():
        same, other = [], []
        for one, two in itertools.combinations([item for item in prompts if item[0] in skills], 2):
            (same if one[0] == two[0] else other).append(shared(one[1], two[1]))
        figures.append(at_least(f"prefix: {kind}, tasks of one skill share", min(same), 0.95))
        figures.append(at_least(f"prefix: {kind}, tasks of two skills share", min(other), 0.60))
    return figures


def at_least(what, share, goal):
    return Figure(f"{what}: the part that differs", 1 - share, 1 - goal, "", f"{share:.0%} shared at least")


def shared(one, two):
    """The share of the longer beginning that both have."""
    return len(os.path.commonprefix([one, two])) / max(len(one), len(two))


def execution_prompts(program):
    """Skill and beginning of each execution prompt."""
    server = Server(1, 1, 0)
    try:
        with Project(server) as project:
            (project.root / "README.md").write_text(README)
            (project.root / "sheet.md").write_text(sheet())
            project.start(program, "run", "--sheet", "sheet.md", "--headless", "approve", "--set", "refine=never").wait()
    finally:
        server.close()
    found = {}
    for call in server.calls:
        skill = next((skill for skill in skills() for number in (1, 2) if f"place {number} by {skill}." in call.text), None)
        number = next((number for number in (1, 2) if f"place {number} by {skill}." in call.text), None)
        if call.phase == "execute" and skill and (skill, number) not in found:
            found[skill, number] = call.text.split("\n## Material\n")[0]
    missing = [key for key in itertools.product(skills(), (1, 2)) if key not in found]
    if missing:
        raise SystemExit(f"no prompt of {missing}")
    return [(skill, text) for (skill, _), text in found.items()]


def skills():
    return [skill for kind in KINDS.values() for skill in kind]


def sheet():
    head = "# Sheet\n\n## Original prompt\nFind the places.\n\n## Goals / summary\nFind the places.\n\n**plan complete**\n\n## Tasks\n\n### Task section 1\n"
    tasks = [
        f"- **Name** Place {place}\n- **What is needed** Where is place {number} by {skill}.\n"
        f"- **Skill** {skill}\n- **References** [Notes](notes.md)\n- **Expected output** notes.md\n"
        for place, (skill, number) in enumerate(itertools.product(skills(), (1, 2)), 1)
    ]
    return head + "\n".join(tasks)
