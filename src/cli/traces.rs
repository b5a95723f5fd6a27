//! Traces by OTLP over HTTP, where `OTEL_EXPORTER_OTLP_ENDPOINT` (or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`) says where to; what
//! else is set is set by OpenTelemetry's own variables (`OTEL_SERVICE_NAME`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_BSP_*`).
//!
//! A span is a request, with its name, method, path and status: nothing of headers, queries or bodies.

use std::{env, sync::OnceLock};

use opentelemetry::{global, trace::TracerProvider as _};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{Resource, propagation::TraceContextPropagator, trace::SdkTracerProvider};
use tracing::{Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{Layer, filter::Targets, registry::LookupSpan};

const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// Where the collector is not told otherwise.
const NAME: &str = "toolpact";

static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

/// What sends spans, where somebody wants them. Why it cannot is told on stderr: the log is not there yet, and a service
/// without traces is better than none.
pub(super) fn layer<S>() -> Option<impl Layer<S>>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    if !ENDPOINTS.iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty())) {
        return None;
    }
    // Whichever is installed speaks TLS; ours is the only one that is linked.
    _ = rustls::crypto::ring::default_provider().install_default();
    let exporter = match SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).build() {
        Ok(exporter) => exporter,
        Err(error) => {
            eprintln!("no traces are sent: {error}; see `{}`", ENDPOINTS[1]);
            return None;
        }
    };
    let mut resource = Resource::builder();
    if env::var_os("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name(NAME);
    }
    let provider =
        SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build()).build();
    global::set_text_map_propagator(TraceContextPropagator::new());
    let tracer = provider.tracer(NAME);
    _ = PROVIDER.set(provider);
    let ours = Targets::new().with_target(NAME, LevelFilter::INFO);
    Some(tracing_opentelemetry::layer().with_tracer(tracer).with_filter(ours))
}

/// Sends what was not sent yet. What a collector does not take in time is lost.
pub(super) fn end() {
    if let Some(provider) = PROVIDER.get()
        && let Err(error) = provider.shutdown()
    {
        tracing::debug!("the last traces were not sent: {error}");
    }
}
