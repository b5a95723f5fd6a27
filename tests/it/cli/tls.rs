//! HTTPS: a server whose certificate is trusted is listed, and no other.

use std::{net::SocketAddr, sync::Arc};

use axum::{Json, Router, routing::post};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivatePkcs8KeyDer},
    server::TlsStream,
};

use super::{COULD_NOT_RUN, PASSED};
use crate::command::User;

/// A port on which TLS is spoken.
struct Tls {
    port: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, from) = self.port.accept().await.expect("the port is bound");
            // Who does not trust the certificate hangs up.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.port.local_addr()
    }
}

/// An authority that signs certificates, and its own.
fn authority() -> (Issuer<'static, KeyPair>, String) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new([]).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own = params.self_signed(&key).expect("signed").pem();
    (Issuer::new(params, key), own)
}

/// A modern server with one tool.
async fn answer(Json(asked): Json<Value>) -> Json<Value> {
    let result = match asked["method"].as_str() {
        Some("server/discover") => {
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        }
        _ => json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}),
    };
    Json(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_listed_over_tls_where_its_certificate_is_trusted() {
    let (issuer, trusted) = authority();
    let (_, other) = authority();
    let key = KeyPair::generate().expect("a key");
    let names = ["127.0.0.1".to_owned()];
    let certificate =
        CertificateParams::new(names).expect("an address").signed_by(&key, &issuer).expect("signed");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.into()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
        .expect("a certificate and its key");
    let port = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let url = format!("https://{}/mcp", port.local_addr().expect("it is bound"));
    let tls = Tls { port, acceptor: TlsAcceptor::from(Arc::new(config)) };
    tokio::spawn(async move { axum::serve(tls, Router::new().route("/mcp", post(answer))).await });

    let asked = tokio::task::spawn_blocking(move || {
        for (roots, code, part) in [
            (trusted, PASSED, "secure@"),
            (other, COULD_NOT_RUN, "cannot be reached: invalid peer certificate"),
        ] {
            let user = User::new();
            let roots = user.file("roots.pem", roots);
            let mut command = user.command(&["snapshot", "secure", "--url", &url]);
            let output = command.env("SSL_CERT_FILE", roots).output().expect("the binary starts");
            let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert_eq!(output.status.code(), Some(code), "{told}");
            let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(told.contains(part), "no {part:?} in\n{told}");
        }
    });
    asked.await.expect("as expected");
}
