//! The HTTP API under `/api/v1`: the route table, grouped by caller.
