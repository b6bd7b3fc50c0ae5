//! What the run cost, and how it spent its time.

use std::collections::BTreeMap;

use callsheet_app::RunView;
use callsheet_core::view::{counted, dollars, duration, thousands, time_parts};
use maud::{Markup, html};

use crate::shown;

/// The section.
pub(crate) fn cost(run: &RunView) -> Markup {
    let summary = run.summary(true);
    let total = summary.time.total_ms().max(1);
    html! {
        section {
            h2 { "Cost and time" }
            dl.facts {
                dt { "Cost" } dd { (summary.cost_words().unwrap_or_else(|| "nothing: the models are free".to_owned())) }
                dt { "Tokens" }
                dd {
                    (thousands(summary.input_tokens)) " read"
                    @if summary.cached_tokens > 0 { " (" (thousands(summary.cached_tokens)) " from a cache)" }
                    ", " (thousands(summary.output_tokens)) " written"
                }
                dt { "Calls" }
                dd {
                    (counted(number(summary.calls), "model call")) ", " (counted(number(summary.tools), "tool call"))
                    @if summary.refused > 0 { "; " (counted(number(summary.refused), "reply")) " asked again" }
                }
                dt { "Time" } dd { (duration(summary.time.total_ms())) "; ideal " (duration(summary.ideal_ms)) }
            }
            div.split role="img" aria-label=(format!("The time: {}", callsheet_core::view::time_words(&summary.time))) {
                @for (words, ms) in time_parts(&summary.time) {
                    span class=(class(words)) style=(format!("flex-grow:{}", (ms * 1_000 / total).max(1))) {}
                }
            }
            ul.legend {
                @for (words, ms) in time_parts(&summary.time) { li { i class=(class(words)) {} (duration(ms)) " " (words) } }
            }
            (models(run))
        }
    }
}

fn number(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn class(words: &str) -> &'static str {
    match words {
        "waiting for you" => "you",
        "working" => "working",
        _ => "models",
    }
}

/// A model's name without the folders of this machine, so that it can be shown to others.
fn model_name(model: &str) -> String {
    let kind = ["embedded:", "scripted:"].into_iter().find(|kind| model.starts_with(kind));
    shown(match kind {
        Some(_) => model.rsplit('/').next().unwrap_or(model),
        None => model,
    })
}

/// Which models answered, and what each cost.
fn models(run: &RunView) -> Markup {
    let mut rows: BTreeMap<&str, (usize, u64, u64, f64, u64)> = BTreeMap::new();
    for call in run.calls() {
        let row = rows.entry(&call.model).or_default();
        row.0 += 1;
        row.1 = row.1.saturating_add(call.usage.input);
        row.2 = row.2.saturating_add(call.usage.output);
        row.3 += call.usage.cost_usd.unwrap_or(0.0);
        row.4 = row.4.saturating_add(call.ms);
    }
    html! {
        @if !rows.is_empty() {
            h3 { "Models" }
            table {
                thead { tr { th { "Model" } th.number { "Calls" } th.number { "Read" } th.number { "Written" } th.number { "Cost" } th.number { "Time" } } }
                tbody {
                    @for (model, (calls, input, output, usd, ms)) in rows {
                        tr {
                            td { (model_name(model)) } td.number { (calls) } td.number { (thousands(input)) }
                            td.number { (thousands(output)) }
                            td.number { (if usd > 0.0 { dollars(usd) } else { "–".to_owned() }) }
                            td.number { (duration(ms)) }
                        }
                    }
                }
            }
        }
    }
}
