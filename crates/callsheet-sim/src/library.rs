//! Generates templates with every operator, randomly nested, with random limits and switches. They are written as XML
//! and read by the ordinary reader, so a seed can be inspected and run by hand.

use std::fmt::Write as _;

use crate::random::Random;

/// At greater depths, there are only leaves.
const MOST_LEVELS: usize = 4;
/// The approximate largest number of elements in a template.
const MOST_ELEMENTS: usize = 14;

const LEAVES: [&str; 3] = ["atomic", "atomic", "script"];
const OPERATORS: [&str; 10] = [
    "atomic",
    "atomic",
    "script",
    "sequential",
    "reduce",
    "director_evaluator_loop",
    "map",
    "parallel",
    "cond",
    "call",
];

/// Generates the templates of one seed.
pub struct Library<'r> {
    random: &'r mut Random,
    elements: usize,
    /// Whether limits and time may end a task. A run with limits depends on the order of events.
    limited: bool,
    /// The number of function templates that may be called.
    functions: usize,
}

impl<'r> Library<'r> {
    /// The library of a world as XML. `top` is its entry, and `fn_N` are called. `limited` adds random limits.
    pub fn text(random: &'r mut Random, limited: bool) -> String {
        let mut library = Self { random, elements: 0, limited, functions: 0 };
        let mut out = String::from("<templates version=\"1\">\n");
        for number in 0..library.random.below(3) {
            library.elements = MOST_ELEMENTS / 2;
            let body = library.element(2);
            let _ = writeln!(out, "<template name=\"fn_{number}\" params=\"x\">{body}</template>");
            library.functions = number + 1;
        }
        library.elements = 0;
        let body = library.element(0);
        let _ = writeln!(out, "<template name=\"top\">{body}</template>\n</templates>");
        out
    }

    /// An operator element.
    fn element(&mut self, level: usize) -> String {
        self.elements += 1;
        let leaf = level >= MOST_LEVELS || self.elements >= MOST_ELEMENTS;
        let kind = if leaf { self.random.pick(&LEAVES) } else { self.random.pick(&OPERATORS) };
        match kind.copied().unwrap_or("atomic") {
            "script" => self.script(),
            "sequential" => self.sequential(level),
            "reduce" => self.reduce(level),
            "director_evaluator_loop" => self.iterated(level),
            "map" => self.map(level),
            "parallel" => self.parallel(level),
            "cond" => self.cond(level),
            "call" if self.functions > 0 => self.call(level),
            _ => self.atomic(),
        }
    }

    fn atomic(&mut self) -> String {
        let format = ["", "", "<output_format type=\"json\"/>", "<output_format type=\"json\" schema=\"object\"/>"];
        let format = self.random.pick(&format).copied().unwrap_or_default();
        let recovery = if self.random.chance(20) { "<recovery attempts=\"2\"/>" } else { "" };
        let inputs = if self.elements < MOST_ELEMENTS && self.random.chance(10) {
            let nested = self.element(MOST_LEVELS);
            format!("<inputs><input name=\"given\">{nested}</input></inputs>")
        } else {
            String::new()
        };
        let limits = self.limits(true);
        format!("<task type=\"atomic\"><description>Do it</description>{inputs}{format}{recovery}{limits}</task>")
    }

    fn script(&mut self) -> String {
        let goes_on = if self.random.chance(50) { " on_nonzero=\"continue\"" } else { "" };
        let reads = if self.random.chance(50) { " effects=\"read\"" } else { "" };
        format!(
            "<task type=\"script\"{goes_on}{reads}><description>Run it</description>\
             <command>make {}</command></task>",
            self.random.below(3)
        )
    }

    fn sequential(&mut self, level: usize) -> String {
        let error = if self.random.chance(30) { " on_error=\"collect\"" } else { "" };
        let mut steps = String::new();
        for _ in 0..=self.random.below(3) {
            steps.push_str(&self.element(level + 1));
        }
        let (context, limits) = (self.context(), self.limits(false));
        format!(
            "<task type=\"sequential\"{error}><description>In order</description>{context}{limits}\
             <steps>{steps}</steps></task>"
        )
    }

    fn reduce(&mut self, level: usize) -> String {
        let (inner, limits) = (self.slot("inner_task", level), self.limits(false));
        let reduction = self.slot("reduction_task", level);
        format!(
            "<task type=\"reduce\" items=\"list\"><description>Fold</description>{limits}\
             <initial_value>[]</initial_value>{inner}{reduction}</task>"
        )
    }

    fn iterated(&mut self, level: usize) -> String {
        let accepts = if self.random.chance(40) { " on_exhausted=\"accept\"" } else { "" };
        let (director, evaluator) = (self.slot("director", level), self.slot("evaluator", level));
        let script = match self.random.below(4) {
            0 => {
                "<script_execution><command>check {{files.made}}</command>\
                  <input_file name=\"made\" from=\"director_result\"/></script_execution>"
            }
            _ => "",
        };
        let condition = match self.random.below(4) {
            0 => "<termination_condition><condition>iteration &gt; 1</condition></termination_condition>",
            _ => "",
        };
        let (limits, most) = (self.limits(false), 1 + self.random.below(4));
        format!(
            "<task type=\"director_evaluator_loop\"{accepts}><description>Until good</description>{limits}\
             <max_iterations>{most}</max_iterations>{director}{script}{evaluator}{condition}</task>"
        )
    }

    fn map(&mut self, level: usize) -> String {
        let pool = self.pool();
        let (body, limits) = (self.slot("body", level), self.limits(false));
        format!("<task type=\"map\" items=\"list\"{pool}><description>Each</description>{limits}{body}</task>")
    }

    fn parallel(&mut self, level: usize) -> String {
        let pool = self.pool();
        let mut children = String::new();
        for _ in 0..=self.random.below(3) {
            children.push_str(&self.element(level + 1));
        }
        format!("<parallel{pool}>{children}</parallel>")
    }

    fn cond(&mut self, level: usize) -> String {
        let test = ["flag", "!flag", "flag == 1", "request == &quot;go&quot;", "nothing &gt; 1"];
        let test = self.random.pick(&test).copied().unwrap_or("flag");
        let yes = self.element(level + 1);
        let no = if self.random.chance(50) { self.slot("else", level) } else { String::new() };
        format!("<cond><case test=\"{test}\">{yes}</case>{no}</cond>")
    }

    fn call(&mut self, level: usize) -> String {
        let number = self.random.below(self.functions);
        let value = if self.random.chance(20) { self.element(level + 1) } else { "a value".to_owned() };
        format!("<call template=\"fn_{number}\"><arg name=\"x\">{value}</arg></call>")
    }

    /// A slot with one element.
    fn slot(&mut self, name: &str, level: usize) -> String {
        let inside = self.element(level + 1);
        format!("<{name}>{inside}</{name}>")
    }

    fn pool(&mut self) -> String {
        let most = 1 + self.random.below(3);
        // How many elements had begun when one failed depends on the order.
        let fails = self.random.chance(50) && (self.limited || most == 1);
        format!(" max_parallel=\"{most}\" on_error=\"{}\"", if fails { "fail" } else { "collect" })
    }

    fn context(&mut self) -> &'static str {
        let settings = [
            "",
            "",
            "<context_management accumulate_data=\"true\" accumulation_format=\"full_output\"/>",
            "<context_management inherit_context=\"none\" accumulate_data=\"false\"/>",
            "<context_management inherit_context=\"none\" fresh_context=\"enabled\"/>",
        ];
        self.random.pick(&settings).copied().unwrap_or_default()
    }

    fn limits(&mut self, leaf: bool) -> String {
        if !self.limited || !self.random.chance(25) {
            return String::new();
        }
        let number = 1 + self.random.below(6);
        match self.random.below(if leaf { 5 } else { 4 }) {
            0 => format!("<limits max_calls=\"{number}\"/>"),
            1 => format!("<limits max_tokens=\"{}\"/>", number * 300),
            2 => format!("<limits timeout_seconds=\"{number}\"/>"),
            3 => format!("<limits max_cost_usd=\"0.0{number}\"/>"),
            _ => format!("<limits max_turns=\"{number}\"/>"),
        }
    }
}
