//! The runs that are killed: their sheets, templates and scripts.

use super::crashes::Act::{Approve, Drive, DriveAndEdit, Edit, Undo};
use super::crashes::Case;

/// A command that starts a run of the sheet `work.md`.
pub const RUN_SHEET: [&str; 3] = ["run", "--sheet", "work.md"];

/// All kinds of runs. Each place that hosts runs is killed at many moments of each.
pub const CASES: [Case; 9] = [
    Case { name: "a_planned_request", script: "steps", files: &[], acts: &[Drive(&["run", "read all"])] },
    APPROVED,
    FLOWING,
    Case {
        name: "a_list_of_items",
        script: EACH_SCRIPT,
        files: &[
            ("work.md", EACH),
            ("notes/a.md", "Tomatoes.\n"),
            ("notes/b.md", "Roses.\n"),
            ("notes/c.md", "Kale.\n"),
        ],
        acts: &[Drive(&RUN_SHEET)],
    },
    Case {
        name: "a_sheet_that_calls_a_template",
        script: REPORT_SCRIPT,
        files: &[(".callsheet/templates/water.xml", REPORT)],
        acts: &[Drive(&["run", "Report who waters the barrels"])],
    },
    Case {
        name: "a_follow_up",
        script: FOLLOW_UP,
        files: &[],
        acts: &[Drive(&["run", "who waters?"]), Drive(&["continue", "RUN", "# The pump\nWhat does it need?"])],
    },
    Case {
        name: "an_undo",
        script: "writer",
        files: &[],
        acts: &[Drive(&["run", "bring the notes up to date", "--approval", "never"]), Undo],
    },
    Case {
        name: "an_edit_between_approvals",
        script: SHEET_SCRIPT,
        files: &[("work.md", SHEET)],
        acts: &[
            Drive(&RUN_SHEET),
            Edit(|sheet| sheet.replace("Add rota.md with two people a week.", "Add rota.md with one person a week.")),
            Approve,
            Approve,
        ],
    },
    Case {
        name: "an_edit_while_tasks_are_at_work",
        script: EDIT.0,
        files: &[("work.md", EDIT.1)],
        acts: &[DriveAndEdit(&RUN_SHEET, |sheet| sheet.replace("What the pump needs.", "What the seal costs."))],
    },
];

/// A reader, then two writers, each approved before it starts and before its changes are made.
pub const APPROVED: Case = Case {
    name: "a_sheet_with_writers_and_approvals",
    script: SHEET_SCRIPT,
    files: &[("work.md", SHEET)],
    acts: &[Drive(&RUN_SHEET), Approve, Approve],
};

/// A map, a loop, and a command that must not run again unasked.
pub const FLOWING: Case = Case {
    name: "a_template_with_a_map_a_loop_and_a_script",
    script: FLOW_SCRIPT,
    files: &[
        (".callsheet/templates/flow.xml", FLOW),
        ("count.sh", "echo ran >> ran.txt\nsleep 0.1\nwc -l < water.md > lines.txt\ncat lines.txt\n"),
    ],
    acts: &[Drive(&["template", "run", "flow", "list:=[1,2,3]", "--approval", "never"])],
};

/// A reader, then two writers.
pub const SHEET: &str = "## Original prompt
Bring the notes up to date.
## Goals / summary
Bring the notes up to date.
## Tasks
### Task section 1
- **Name** Read Water 1
- **What is needed** Who looks after the barrels.
- **Skill** read_files
- **References** [Water](water.md)
- **Expected output** A name.
### Task section 2
- **Name** Write Rota 1
- **What is needed** Add rota.md with two people a week.
- **Skill** write_document
- **References** [Who](#read-water-1-results)
- **Expected output** One new file.

- **Name** Write Thanks 1
- **What is needed** Add thanks.md.
- **Skill** write_document
- **References** [Who](#read-water-1-results)
- **Expected output** One new file.
";

/// What the model of that sheet says.
pub const SHEET_SCRIPT: &str = "
[[rule]]
label = 'execute write-rota-1'
prompt = 'one person'
delay_ms = 80
text = '''
## Result summary
The short rota is there.
## Change details
- **file_path** rota.md
- **complete_file** true
```markdown
# Short rota
```
'''

[[rule]]
label = 'execute write-rota-1'
delay_ms = 80
text = '''
## Result summary
The rota is there.
## Change details
- **file_path** rota.md
- **complete_file** true
```markdown
# Rota
```
## Change details
- **file_path** minutes.md
- **complete_file** true
- **location** remove
'''

[[rule]]
label = 'execute write-thanks-1'
delay_ms = 50
text = '''
## Result summary
Everybody is thanked.
## Change details
- **file_path** thanks.md
- **complete_file** true
```markdown
# Thanks
```
'''

[[rule]]
phase = 'execute'
delay_ms = 60
text = '''
## Result summary
Ana looks after the barrels.
'''

[[rule]]
phase = 'iterate'
text = '''
## Tasks
'''
";

/// A task for each file of a folder, and one that reads all results.
const EACH: &str = "## Goals / summary
One list.

**plan complete**
## Tasks
### Task section 1
- **Name** Review
- **What is needed** Find the mistakes in {file}.
- **For each** file in [Notes](notes/)
- **Expected output** A list.

### Task section 2
- **Name** Sum
- **What is needed** Sum up.
- **References** [Reviews](#review-results)
- **Expected output** A line.
";

/// What the model of that sheet says.
const EACH_SCRIPT: &str = "
[[rule]]
prompt = 'Sum up'
delay_ms = 60
text = '''
## Result summary
Summed.
'''

[[rule]]
prompt = 'mistakes in notes/a.md'
delay_ms = 100
text = 'Tomatoes.'

[default]
delay_ms = 60
text = 'None.'
";

/// A template of each kind of operator that repeats something, and a script that writes.
const FLOW: &str = r#"<templates version="1">
<task type="sequential" name="flow"><description>Look at each, until good</description>
<inputs><input name="list"/></inputs>
<steps>
<task type="map" id="each" items="list" max_parallel="2"><description>Each</description>
<body><task type="atomic"><description>Look at one of them</description><allowed_tools/></task></body></task>
<task type="director_evaluator_loop" id="until"><description>Until good</description><max_iterations>3</max_iterations>
<director><description>Make it: {{evaluation_feedback}}</description><allowed_tools/></director>
<evaluator><description>Judge it: {{director_result}}</description><output_format type="json" schema="object"/><allowed_tools/></evaluator></task>
<task type="script" id="count"><description>Count the lines</description><command>sh count.sh</command></task>
<task type="atomic" id="say"><description>Say: {{steps.count.content}}</description><allowed_tools/></task>
</steps></task></templates>"#;

/// What its model says: what it said before decides, so that a process that begins anew says the same.
const FLOW_SCRIPT: &str = r#"
[[rule]]
phase = "execute"
prompt = "Second try."
delay_ms = 40
text = '{"success": true, "feedback": "good"}'

[[rule]]
phase = "execute"
prompt = "Judge it"
delay_ms = 40
text = '{"success": false, "feedback": "not yet"}'

[[rule]]
phase = "execute"
prompt = "not yet"
delay_ms = 40
text = "Second try."

[[rule]]
phase = "execute"
delay_ms = 40
text = "Seen and said."
"#;

/// A plan of one task, and a follow-up that builds on it.
const FOLLOW_UP: &str = r#"
[[rule]]
phase = "plan"
delay_ms = 40
text = '''
## Goals / summary
Say who looks after the water.
**plan complete**
## Tasks
### Task section 1
- **Name** Read Water 1
- **What is needed** Who looks after the barrels.
- **Skill** read_files
- **References** [Water](water.md)
- **Expected output** A name.
'''

[[rule]]
phase = "continue"
delay_ms = 40
text = '''
## Goals / summary
Say what the pump needs, too.
**plan complete**
## Tasks
### Task section 1
- **Name** Read Water 2
- **What is needed** What the pump needs.
- **Skill** answer_from_documents
- **References** [Who](#read-water-1-results) [Asked](#the-pump)
- **Expected output** A part.
'''

[[rule]]
label = "execute read-water-2"
delay_ms = 60
text = '''
## Result summary
The pump needs a seal.
'''

[[rule]]
phase = "execute"
delay_ms = 60
text = '''
## Result summary
Ana looks after the barrels.
'''
"#;

/// A template that a task of a sheet calls.
const REPORT: &str = r#"<template name="water_report" params="question:string"><task type="sequential">
<description>Report who waters the barrels of the garden</description><steps>
<task type="atomic"><description>Look who waters</description><instructions>Answer: {{question}}</instructions><allowed_tools/></task>
<task type="atomic"><description>Say it</description><allowed_tools/></task></steps></task></template>"#;

/// What planner, task and template say.
const REPORT_SCRIPT: &str = r#"
[[rule]]
phase = "plan"
delay_ms = 40
text = '''
## Goals / summary
Say who waters.
**plan complete**
## Tasks
### Task section 1
- **Name** Report 1
- **What is needed** Who waters the barrels.
- **Skill** water_report
- **References** none
- **Expected output** A name.
'''

[[rule]]
phase = "refine"
delay_ms = 40
text = '''
## Task
- **What is needed** Who waters the barrels.
## Tool Calls
```json
{"name": "water_report", "arguments": {"question": "Who waters the barrels?"}}
```
'''

[[rule]]
phase = "execute"
delay_ms = 60
text = '''
Ana waters them.
'''
"#;

/// A sheet whose first task works while the second is edited, and its model.
const EDIT: (&str, &str) = (
    "
[[rule]]
label = 'execute read-water-2'
prompt = 'What the seal costs.'
delay_ms = 60
text = '''
## Result summary
The seal costs 15 euros.
'''

[[rule]]
label = 'execute read-water-2'
text = '''
## Result summary
Nobody asked for this any more.
'''

[[rule]]
phase = 'execute'
delay_ms = 1500
text = '''
## Result summary
Ana looks after the barrels.
'''
",
    "## Original prompt
Who looks after the water?
## Goals / summary
Say who looks after the water.
## Tasks
### Task section 1
- **Name** Read Water 1
- **What is needed** Who looks after the barrels.
- **Skill** read_files
- **References** [Water](water.md)
- **Expected output** A name.
### Task section 2
- **Name** Read Water 2
- **What is needed** What the pump needs.
- **Skill** answer_from_documents
- **References** [Who](#read-water-1-results)
- **Expected output** A part.
",
);
