//! Lists that a template goes through come from files.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const EACH: &str = r#"<task type="map" name="each" items="rows" as="row" max_parallel="1"><description>Each</description>
<limits max_items="100000"/><inputs><input name="rows"/></inputs><body><task><description>About {{row}}.</description>
<allowed_tools/></task></body></task>"#;

fn garden() -> TestProject {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = 'Fine.'\n");
    garden.write(".callsheet/templates/each.xml", EACH);
    garden
}

/// covers: T 8, T 4
#[test]
fn a_map_goes_through_the_list_in_a_file() {
    let garden = garden();
    let files = [
        ("beds.csv", "name,bed\r\nAna,2\r\n\"Bo, jr.\",3\r\n", r#"About {"name":"Bo, jr.","bed":"3"}."#),
        ("beds.tsv", "name\tbed\nAna\t2\nBo\t3\n", r#"About {"name":"Bo","bed":"3"}."#),
        ("beds.jsonl", "{\"bed\": 2}\n\n{\"bed\": 3}\n", r#"About {"bed":3}."#),
        ("beds.json", "[2, 3]", "About 3."),
        ("beds.txt", "second bed\n\nthird bed\n", "About third bed."),
    ];
    for (name, text, last) in files {
        garden.write(name, text);
        let ended = garden.expect(0, &["template", "run", "each", &format!("rows:=@{name}")]);
        assert_eq!(ended.out.trim(), r#"["Fine.","Fine."]"#, "{name}");
        let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
        assert!(prompt.contains(last), "{name}: {prompt}");
    }
}

#[test]
fn what_is_wrong_with_a_file_of_values_is_told() {
    let garden = garden();
    garden.write("bad.csv", "name,bed\nAna\n");
    let ended = garden.expect(2, &["template", "run", "each", "rows:=@bad.csv"]);
    let told = "rows: bad.csv: line 2: 1 columns, but the first line names 2";
    assert!(ended.err.contains(told) && ended.err.contains(".jsonl"), "{}", ended.err);
    let ended = garden.expect(2, &["template", "run", "each", "rows:=@nowhere.csv"]);
    assert!(ended.err.contains("rows: nowhere.csv: "), "{}", ended.err);
    garden.write("one.json", "{}");
    let ended = garden.expect(2, &["template", "run", "each", "rows:=@one.json"]);
    assert!(ended.err.contains("rows"), "{}", ended.err);
}

/// The log of the database is gone with the process.
#[test]
fn a_run_that_ended_leaves_one_file_of_its_store() {
    let garden = garden();
    garden.write("beds.txt", "second\nthird\n");
    garden.expect(0, &["template", "run", "each", "rows:=@beds.txt"]);
    let names: Vec<String> = std::fs::read_dir(garden.store())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("callsheet.db"))
        .collect();
    assert_eq!(names, ["callsheet.db"]);
}

/// A template that names a column that its table does not have says which columns there are.
#[test]
fn a_missing_column_is_told_with_those_that_exist() {
    let garden = TestProject::scripted("[default]\ntext = \"Hi.\"\n");
    let template = "template: greet\nabout: Greet each\ninputs: {people: array}\nreturns: array\neach: person in people\nask: Greet {{person.nmae}}.\n";
    garden.write(".callsheet/templates/greet.yaml", template);
    garden.write("people.csv", "name,city\nAna,Rome\n");
    let ended = garden.call(&["template", "run", "greet", "people:=@people.csv"]);
    let told =
        "warning: .callsheet/templates/greet.yaml:6:12: `person.nmae`: the given values have no nmae, but city, name.";
    assert!(ended.err.contains(told), "{}", ended.err);
    assert!(ended.err.contains("person has no nmae; it has"), "{}", ended.err);
    assert!(ended.err.contains("city") && ended.err.contains("Did you mean name?"), "{}", ended.err);
}
