//! What a collector of traces is sent.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
};

use super::{
    PASSED,
    serve::{serving_with, terminate},
};
use crate::command::User;

/// Takes one message of an exporter, and answers it as a collector does.
fn taken(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut all = Vec::new();
    let mut part = [0; 4096];
    loop {
        let read = stream.read(&mut part).expect("it sends");
        all.extend_from_slice(&part[..read]);
        let Some(end) = all.windows(4).position(|at| at == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&all[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
        if all.len() - end - 4 >= length.parse().expect("a number") {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .expect("it reads");
            return (head, all.split_off(end + 4));
        }
    }
}

#[test]
fn a_request_is_a_span_of_its_callers_trace_and_holds_no_secret() {
    let user = User::new();
    let collector = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", collector.local_addr().expect("an address"));
    let (mut child, url) = serving_with(&user, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut stream = TcpStream::connect(&host).expect("it listens");
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let asked = "GET /api/v1/catalogs?limit=canary HTTP/1.1\r\nX-Request-Id: req-7\r\nAuthorization: Bearer canary\r\n";
    let parent = format!("traceparent: 00-{trace}-b7ad6b7169203331-01\r\n");
    write!(stream, "{asked}{parent}Host: {host}\r\nConnection: close\r\n\r\n").expect("it reads");
    stream.read_to_string(&mut String::new()).expect("it answers");
    terminate(&child);
    let (head, body) = taken(&mut collector.accept().expect("it sends at the end").0);
    assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
    let has = |part: &[u8]| body.windows(part.len()).any(|at| at == part);
    let id: Vec<u8> =
        (0..16).map(|at| u8::from_str_radix(&trace[2 * at..2 * at + 2], 16).expect("hexadecimal")).collect();
    for (what, part) in [
        ("the trace", id.as_slice()),
        ("the service", b"toolpact"),
        ("the span", b"request"),
        ("its name", b"req-7"),
        ("its path", b"/api/v1/catalogs"),
    ] {
        assert!(has(part), "{what} is missing in {}", String::from_utf8_lossy(&body));
    }
    assert!(!has(b"canary"), "{}", String::from_utf8_lossy(&body));
    assert_eq!(child.wait().expect("it ends").code(), Some(PASSED));
}
