//! Catalog documents: YAML in, YAML out, errors with line numbers.
