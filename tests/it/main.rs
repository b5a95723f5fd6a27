//! One binary; each `mod` line says what belongs in it.

// Not tests: a service with a story in it, for the API and the pages.
mod seed;
