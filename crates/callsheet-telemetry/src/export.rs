//! Sends spans and measurements with the OpenTelemetry SDK, which reads the other `OTEL_*` variables.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use callsheet_runtime::ports::{Observer, Signal};
use opentelemetry::metrics::{Counter, Histogram, MeterProvider};
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue, Value};
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor};

use crate::names;
use crate::trace::{Attribute, Attributes, Measured, Span, Told};

const SCOPE: &str = "callsheet";

/// How long the end of a run waits for a receiver that does not answer.
const LAST: Duration = Duration::from_secs(5);

/// Reports the first failure of an export, and no other.
#[derive(Clone)]
struct Once(Arc<dyn Observer>, Arc<AtomicBool>);

impl Once {
    fn told(&self, result: OTelSdkResult) -> OTelSdkResult {
        if let Err(error) = &result
            && !self.1.swap(true, Ordering::SeqCst)
        {
            let words = format!("note: telemetry could not be sent, and the run continues without it: {error}");
            self.0.see(&Signal::Notice(&words));
        }
        result
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Once")
    }
}

/// An exporter whose first failure is reported.
#[derive(Debug)]
struct Reported<E>(E, Once);

impl opentelemetry_sdk::trace::SpanExporter for Reported<SpanExporter> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.1.told(self.0.export(batch).await)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

impl PushMetricExporter for Reported<MetricExporter> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        self.1.told(self.0.export(metrics).await)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.0.temporality()
    }
}

pub(crate) struct Exporter {
    spans: BatchSpanProcessor,
    meters: SdkMeterProvider,
    tokens: Histogram<f64>,
    durations: Histogram<f64>,
    waits: Histogram<f64>,
    cost: Counter<f64>,
    repairs: Counter<f64>,
    scope: InstrumentationScope,
}

impl Exporter {
    /// Starts the threads that send. Sends nothing yet.
    pub(crate) fn new(observer: &Arc<dyn Observer>, set: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let protocol = set("OTEL_EXPORTER_OTLP_PROTOCOL").unwrap_or_else(|| "http/protobuf".to_owned());
        if protocol != "http/protobuf" {
            return Err(format!("OTEL_EXPORTER_OTLP_PROTOCOL is {protocol}, and only http/protobuf is supported"));
        }
        // Another part of the process may have chosen a provider of TLS already. Any provider is fine.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
        let once = Once(Arc::clone(observer), Arc::default());
        let mut resource = Resource::builder();
        if set("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("callsheet");
        }
        let resource = resource.with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))).build();
        let spans = SpanExporter::builder().with_http().build().map_err(|error| error.to_string())?;
        let mut spans = BatchSpanProcessor::builder(Reported(spans, once.clone())).build();
        spans.set_resource(&resource);
        let metrics = MetricExporter::builder().with_http().build().map_err(|error| error.to_string())?;
        let reader = PeriodicReader::builder(Reported(metrics, once)).build();
        let meters = SdkMeterProvider::builder().with_reader(reader).with_resource(resource).build();
        let meter = meters.meter(SCOPE);
        let histogram = |name: &'static str, unit: &'static str| meter.f64_histogram(name).with_unit(unit).build();
        Ok(Self {
            tokens: histogram(names::TOKEN_USAGE, "{token}"),
            durations: histogram(names::DURATION, "s"),
            waits: histogram(names::WAITS, "s"),
            cost: meter.f64_counter(names::COST).with_unit("USD").build(),
            repairs: meter.f64_counter(names::REPAIRS).with_unit("{repair}").build(),
            scope: InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build(),
            spans,
            meters,
        })
    }

    /// Hands over what happened. Another thread sends it.
    pub(crate) fn send(&self, told: Told) {
        for span in told.spans {
            self.spans.on_end(self.data(span));
        }
        for Measured { name, value, attributes } in told.measured {
            let attributes = key_values(attributes);
            match name {
                names::TOKEN_USAGE => self.tokens.record(value, &attributes),
                names::DURATION => self.durations.record(value, &attributes),
                names::WAITS => self.waits.record(value, &attributes),
                names::COST => self.cost.add(value, &attributes),
                _ => self.repairs.add(value, &attributes),
            }
        }
    }

    fn data(&self, span: Span) -> SpanData {
        let (trace, id) = (TraceId::from(span.trace), SpanId::from(span.id));
        SpanData {
            span_context: SpanContext::new(trace, id, TraceFlags::SAMPLED, false, TraceState::NONE),
            parent_span_id: span.parent.map_or(SpanId::INVALID, SpanId::from),
            parent_span_is_remote: false,
            span_kind: if span.is_request { SpanKind::Client } else { SpanKind::Internal },
            name: span.name.into(),
            start_time: time(span.start),
            end_time: time(span.end),
            attributes: key_values(span.attributes),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: span.error.map_or(Status::Unset, Status::error),
            instrumentation_scope: self.scope.clone(),
        }
    }
}

/// Sends what is left, and waits for that a few seconds at most.
impl Drop for Exporter {
    fn drop(&mut self) {
        // A failure was reported by the exporter.
        let _spans = self.spans.shutdown_with_timeout(LAST);
        let _metrics = self.meters.shutdown_with_timeout(LAST);
    }
}

fn time(ms: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(ms)
}

fn key_values(attributes: Attributes) -> Vec<KeyValue> {
    let value = |attribute| match attribute {
        Attribute::Text(text) => Value::from(text),
        Attribute::Texts(texts) => Value::Array(Array::String(texts.into_iter().map(StringValue::from).collect())),
        Attribute::Count(count) => Value::I64(i64::try_from(count).unwrap_or(i64::MAX)),
        Attribute::Amount(amount) => Value::F64(amount),
        Attribute::Flag(flag) => Value::Bool(flag),
    };
    attributes.into_iter().map(|(name, attribute)| KeyValue::new(name, value(attribute))).collect()
}
