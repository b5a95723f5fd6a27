//! What must outlive the process, in catalog terms. SQLite stands behind it; PostgreSQL can stand beside it.
