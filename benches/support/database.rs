//! A database of a bench's own on the server that `TEST_POSTGRES_URL` names.

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

/// Made for one bench, dropped after it.
pub(crate) struct Database {
    server: String,
    name: String,
    /// Where it is.
    pub(crate) url: String,
}

impl Database {
    pub(crate) async fn create(server: &str, purpose: &str) -> Self {
        let name = format!("bench_{purpose}_{}", std::process::id());
        on_server(server, &format!("CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")).await;
        let (before, parameters) = server.split_once('?').unwrap_or((server, ""));
        let host = before.find("://").map_or(0, |at| at + 3);
        let end = before[host..].find('/').map_or(before.len(), |at| host + at);
        let url = format!("{}/{name}?{parameters}", &before[..end]);
        Self { server: server.to_owned(), name, url }
    }

    pub(crate) async fn drop(self) {
        on_server(&self.server, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

async fn on_server(server: &str, sql: &str) {
    let mut db = PgConnection::connect(server).await.expect("TEST_POSTGRES_URL names a server that answers");
    db.execute(AssertSqlSafe(sql.to_owned())).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    _ = db.close().await;
}
