//! What calls cost: configured prices, else those of the bundled table (`prices.tsv`).

use callsheet_core::record::Usage;

use super::{Dialect, Provider, vendors};

const TABLE: &str = include_str!("../../prices.tsv");

/// Prices of a model, in US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// Input. `None` if unknown.
    pub input: Option<f64>,
    /// Input that the provider had cached. `None` means the normal input price.
    pub cached_input: Option<f64>,
    /// Input that the provider stored in its cache. `None` means the normal input price.
    pub cache_write: Option<f64>,
    /// Output. `None` if unknown.
    pub output: Option<f64>,
}

impl Prices {
    /// Prices of a model that costs nothing.
    pub const FREE: Self = Self { input: Some(0.0), cached_input: None, cache_write: None, output: Some(0.0) };

    /// Whether the cost of a call can be computed.
    pub fn are_known(&self) -> bool {
        self.input.is_some() && self.output.is_some()
    }

    /// The input price, if the cost of a call can be computed.
    pub fn known_input(&self) -> Option<f64> {
        self.input.filter(|_| self.are_known())
    }

    /// The output price, if the cost of a call can be computed.
    pub fn known_output(&self) -> Option<f64> {
        self.output.filter(|_| self.are_known())
    }

    /// Cost of a call in US dollars. `None` unless both prices are known. Cached input without its own price counts in
    /// full, so the cost is never too low.
    pub fn cost_usd(&self, usage: &Usage) -> Option<f64> {
        self.cost_with_writes_usd(usage, 0)
    }

    /// Like `cost_usd`, but for a call during which the provider stored `written` tokens of input in its cache.
    pub fn cost_with_writes_usd(&self, usage: &Usage, written: u64) -> Option<f64> {
        let (input, output) = (self.input?, self.output?);
        let cached = usage.cached.min(usage.input);
        let fresh = usage.input.saturating_sub(cached);
        let written = written.min(fresh);
        let plain = fresh.saturating_sub(written) as f64 * input;
        let cache =
            cached as f64 * self.cached_input.unwrap_or(input) + written as f64 * self.cache_write.unwrap_or(input);
        Some((plain + cache + usage.output as f64 * output) / 1_000_000.0)
    }
}

impl Provider {
    /// The prices of a model: configured ones; else nothing for a model on the user's own machine; else those of the
    /// table. The table applies only to the vendor's own address.
    pub fn prices_of(&self, model: &str) -> Prices {
        if self.prices != Prices::default() {
            return self.prices;
        }
        let runs_here =
            matches!(self.dialect, Dialect::Ollama | Dialect::Llamacpp | Dialect::Embedded | Dialect::Scripted);
        if runs_here || vendors().iter().any(|row| row.name == self.name && row.dialect == self.dialect && row.local) {
            return Prices::FREE;
        }
        let mut hosted = vendors().iter().filter(|row| !row.local);
        let vendor = hosted.find(|row| self.is_at(row));
        vendor.and_then(|row| of_table(&row.name, model)).unwrap_or_default()
    }
}

/// The row with the longest matching name.
fn of_table(vendor: &str, model: &str) -> Option<Prices> {
    let rows = TABLE.lines().filter_map(|line| line.strip_prefix(vendor)?.strip_prefix('\t'));
    let fitting = rows.filter_map(|row| {
        let mut cells = row.split('\t');
        let name = cells.next()?;
        let length = match name.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning).then_some(beginning.len()),
            // A full name wins over a prefix of the same length.
            None => (name == model).then_some(usize::MAX),
        }?;
        let mut price = || cells.next().and_then(|cell| cell.parse::<f64>().ok());
        Some((length, Prices { input: price(), cached_input: price(), cache_write: price(), output: price() }))
    });
    fitting.max_by_key(|(length, _)| *length).map(|(_, prices)| prices)
}

/// Where the table comes from, and its date.
pub fn price_source() -> &'static str {
    TABLE.lines().next().and_then(|line| line.strip_prefix("# source: ")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_can_be_read() {
        assert!(price_source().contains("genai-prices"), "{}", price_source());
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let cells: Vec<&str> = line.split('\t').collect();
            let [vendor, _, input, cached, written, output] = cells.as_slice() else { panic!("{line}") };
            assert!(vendors().iter().any(|row| row.name == *vendor && !row.local), "{line}");
            assert!(input.parse::<f64>().is_ok() && output.parse::<f64>().is_ok(), "{line}");
            for price in [cached, written] {
                assert!(price.is_empty() || price.parse::<f64>().is_ok(), "{line}");
            }
        }
    }

    #[test]
    fn every_default_model_has_a_price_but_that_which_chooses_among_all() {
        for row in vendors().iter().filter(|row| row.default_model.is_some()) {
            let provider = Provider::resolve(&row.name, &std::collections::BTreeMap::new()).unwrap();
            let model = row.default_model.clone().unwrap_or_default();
            assert_eq!(provider.prices_of(&model).are_known(), model != "openrouter/auto", "{model}");
        }
    }
}
