//! One binary; each `mod` line says what belongs in it.

// The HTTP API: status and body, a file per noun.
mod api;
// Not tests: asks the service, both faces together.
mod ask;
// Not tests: a service with a story in it, for the API and the pages.
mod seed;
// The pages: every one renders, is safe and accessible; what the forms do.
mod web;
