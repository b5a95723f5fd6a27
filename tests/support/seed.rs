//! Fills a database by SQL, in one transaction: more history than anybody waits for by way of the use cases. Some objects are
//! made by the use cases first; what stands here are copies of their rows, so that all that is read back is well-formed. The
//! events are no chain.

use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, sqlite::SqliteConnectOptions};

/// How much there is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Servers, each with one snapshot of 100 tools.
    pub(crate) servers: i64,
    /// Rows of history: a half are listings, a quarter moves, a quarter events; and a hundredth of it decisions, a
    /// thousandth each versions, drafts and checks, but 200 at least.
    pub(crate) history: i64,
}

/// The statements, for SQLite or PostgreSQL.
fn statements(size: Size, postgres: bool) -> Vec<String> {
    let Size { servers, history } = size;
    let upto = |n: i64| {
        if postgres {
            format!("(SELECT generate_series AS n FROM generate_series(1, {n})) numbers")
        } else {
            format!(
                "(WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < {n}) SELECT n FROM up) numbers"
            )
        }
    };
    // 64 digits that begin with a kind's own, so that no two are the same.
    let digest = |kind: &str, n: &str| {
        if postgres {
            format!("'sha256:{kind}' || lpad(({n})::text, 62, '0')")
        } else {
            format!("'sha256:{kind}' || printf('%062d', {n})")
        }
    };
    let padded = |prefix: &str, n: &str| {
        if postgres {
            format!("'{prefix}' || lpad(({n})::text, 6, '0')")
        } else {
            format!("'{prefix}' || printf('%06d', {n})")
        }
    };
    // Times that grow with `n`, as they are stored.
    let at = |n: &str| {
        if postgres {
            format!(
                "'2026-' || lpad((1 + ({n}) / 86400 / 28 % 11)::text, 2, '0') || '-' || lpad((1 + ({n}) / 86400 % 28)::text, 2, '0') || 'T00:00:00.' || lpad((({n}) % 1000000)::text, 6, '0') || 'Z'"
            )
        } else {
            format!(
                "printf('2026-%02d-%02dT00:00:00.%06dZ', 1 + ({n}) / 86400 / 28 % 11, 1 + ({n}) / 86400 % 28, ({n}) % 1000000)"
            )
        }
    };
    let version = |n: &str| format!("'20' || (26 + ({n}) / 9000) || '.01.01.' || (1 + ({n}) % 9000)");
    let ordinal = |n: &str| format!("(2026 + ({n}) / 9000) * 10000000000 + 101000001 + ({n}) % 9000");
    let (listings, moves, events) = (history / 2, history / 4, history / 4);
    let checks = (history / 1000).max(200);
    let (versions, drafts, decisions) = ((history / 1000).max(200), (history / 1000).max(200), history / 100);
    let tools = servers * 100;
    let body = "'{\"name\":\"tool_' || n || '\",\"inputSchema\":{\"type\":\"object\"}}'";
    vec![
        format!("INSERT INTO content (digest, body) SELECT {}, {body} FROM {}", digest("a0", "n"), upto(tools)),
        format!(
            "INSERT INTO contracts (content, policy, tool, raw, contract, presentation)
             SELECT {0}, 'tp1', 'tool_' || n, {1}, {1}, {1} FROM {2}",
            digest("a0", "n"),
            digest("b0", "n"),
            upto(tools)
        ),
        format!(
            "INSERT INTO snapshots (server, digest, tools) SELECT {}, {}, 100 FROM {}",
            padded("server-", "n"),
            digest("c0", "n"),
            upto(servers)
        ),
        format!(
            "INSERT INTO snapshot_tools (server, snapshot, position, content)
             SELECT {}, {}, (n - 1) % 100, {} FROM {}",
            padded("server-", "1 + (n - 1) / 100"),
            digest("c0", "1 + (n - 1) / 100"),
            digest("a0", "n"),
            upto(tools)
        ),
        format!(
            "INSERT INTO listings (server, at, outcome, snapshot, provenance, evidence, surfaces, context, is_primary)
             SELECT {server}, {at}, CASE WHEN n % 10 = 0 THEN 'timeout' ELSE 'ok' END,
                 CASE WHEN n % 10 = 0 THEN NULL ELSE {snapshot} END,
                 m.provenance, m.evidence, '[]', m.context, m.is_primary
             FROM {numbers}, (SELECT * FROM listings ORDER BY id LIMIT 1) m",
            server = padded("server-", &format!("1 + n % {servers}")),
            snapshot = digest("c0", &format!("1 + n % {servers}")),
            at = at("n"),
            numbers = upto(listings)
        ),
        format!(
            "INSERT INTO versions (catalog, version, ordinal, digest, content, draft, approved_by, reason, approved_at, tools)
             SELECT m.catalog, {}, {}, m.digest, m.content, NULL, m.approved_by, m.reason, {}, m.tools
             FROM {}, (SELECT * FROM versions ORDER BY ordinal LIMIT 1) m",
            version("n"),
            ordinal("n"),
            at("n"),
            upto(versions)
        ),
        format!(
            "INSERT INTO drafts (catalog, base, digest, content, report, status, created_by, created_at, decided_by, decided_at, earlier, verdict)
             SELECT m.catalog, m.base, m.digest, m.content, m.report, 'rejected', m.created_by, {0}, 'ann', {0}, m.earlier, m.verdict
             FROM {1}, (SELECT * FROM drafts ORDER BY id LIMIT 1) m",
            at("n"),
            upto(drafts)
        ),
        format!(
            "INSERT INTO moves (environment, catalog, generation, kind, from_version, to_version, reason, actor, at, grounds)
             SELECT m.environment, m.catalog, 1 + n, 'promote', m.to_version, m.to_version, m.reason, m.actor, {}, m.grounds
             FROM {}, (SELECT * FROM moves ORDER BY generation LIMIT 1) m",
            at("n"),
            upto(moves)
        ),
        format!("UPDATE pointers SET generation = {}", moves + 1),
        format!(
            "INSERT INTO decisions (catalog, fingerprint, ruling, reason, change, actor, at)
             SELECT m.name, {}, 'accept', 'why not', 'something', 'ann', {} FROM {}, (SELECT name FROM catalogs LIMIT 1) m",
            digest("d0", "n"),
            at("n"),
            upto(decisions)
        ),
        format!(
            "INSERT INTO checks (digest, catalog, environment, version, servers, repository, verdict, report, earlier, created_by, created_at)
             SELECT {}, m.name, 'production', '2026.11.30', '[\"orders\"]', 'acme/' || (n % 50), 'risky', '{{}}', '[]', 'ci', {}
             FROM {}, (SELECT name FROM catalogs LIMIT 1) m",
            digest("ab", "n"),
            at("n"),
            upto(checks)
        ),
        format!(
            "INSERT INTO events (seq, at, actor, kind, subject, data, previous, digest)
             SELECT m.seq + n, {}, 'actor-' || (n % 50), 'kind.' || (n % 20), 'subject/' || (n % 1000), m.data, {}, {}
             FROM {}, (SELECT * FROM events ORDER BY seq DESC LIMIT 1) m",
            at("n"),
            digest("e0", "n"),
            digest("f0", "n"),
            upto(events)
        ),
        "ANALYZE".to_owned(),
    ]
}

/// Fills the database that this names: a URL of PostgreSQL, or a file of SQLite.
pub(crate) async fn fill(database: &str, size: Size) {
    let sql = |postgres| {
        AssertSqlSafe(
            ["BEGIN".to_owned(), statements(size, postgres).join(";\n"), "COMMIT".to_owned()].join(";\n"),
        )
    };
    if database.starts_with("postgres") {
        let mut db = PgConnection::connect(database).await.expect("a connection");
        sqlx::raw_sql(sql(true)).execute(&mut db).await.expect("filled");
        // What a running database does by itself before long: each of the listings has left a dead row in `heads`.
        sqlx::raw_sql("VACUUM").execute(&mut db).await.expect("vacuumed");
    } else {
        let mut db = SqliteConnectOptions::new().filename(database).connect().await.expect("a connection");
        sqlx::raw_sql(sql(false)).execute(&mut db).await.expect("filled");
    }
}
