//! From which address a request comes: that of its connection, or what trusted proxies say of it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::{
    extract::ConnectInfo,
    http::{HeaderName, request::Parts},
};
use ipnet::IpNet;

/// Each proxy adds the address that it was asked from at the end, so what stands before the first that is not a trusted proxy
/// may be anybody's invention.
const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address that a request is counted for; nothing where it came over no connection.
pub(super) fn of(parts: &Parts, proxies: &[IpNet]) -> Option<IpAddr> {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>()?.0.ip().to_canonical();
    let is_proxy = |address: &IpAddr| proxies.iter().any(|proxy| proxy.contains(address));
    let mut address = peer;
    let said: Vec<&str> = parts
        .headers
        .get_all(FORWARDED)
        .iter()
        .flat_map(|value| value.to_str().unwrap_or("?").split(','))
        .collect();
    for said in said.into_iter().rev() {
        if !is_proxy(&address) {
            break;
        }
        // What is no address was said by a proxy that is trusted: it is the last that is known.
        let Some(before) = parsed(said.trim()) else { break };
        address = before;
    }
    Some(address)
}

/// Who is counted as one: an IPv4 address, and of IPv6 the network of 64 bits in which one machine may take any address
/// (RFC 4291, 2.5.1; RFC 8981).
pub(super) fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

/// An address, some write with the port.
fn parsed(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    let address =
        bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))?;
    Some(IpAddr::to_canonical(&address))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    #[test]
    fn a_machine_is_counted_as_one_whichever_of_its_addresses_it_takes() {
        for (address, wanted) in [
            ("203.0.113.9", "203.0.113.9"),
            ("::ffff:203.0.113.9", "203.0.113.9"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2::", "2001:db8:1:2::"),
            ("2001:db8:1:3::1", "2001:db8:1:3::"),
            ("::1", "::"),
        ] {
            let parsed = |text: &str| -> IpAddr { text.parse().expect("an address") };
            assert_eq!(counted(parsed(address)), parsed(wanted), "{address}");
        }
    }

    #[test]
    fn a_proxy_is_believed_where_it_is_trusted_and_nobody_else() {
        let check = |peer: &str, said: &[&str], wanted: &str| {
            let mut request = Request::builder();
            for said in said {
                request = request.header(FORWARDED, *said);
            }
            let (mut parts, ()) = request.body(()).expect("a request").into_parts();
            parts.extensions.insert(ConnectInfo(SocketAddr::new(peer.parse().expect("an address"), 1)));
            let proxies = ["10.0.0.0/8".parse().expect("a network"), "fd00::/8".parse().expect("a network")];
            assert_eq!(of(&parts, &proxies), Some(wanted.parse().expect("an address")), "{peer} {said:?}");
        };
        // Nobody else is believed.
        check("192.0.2.1", &["198.51.100.7"], "192.0.2.1");
        check("10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.1", &["198.51.100.7"], "198.51.100.7");
        check("::ffff:10.0.0.1", &["198.51.100.7"], "198.51.100.7");
        check("fd00::1", &["2001:db8::7"], "2001:db8::7");
        // The one nearest to the proxies counts, whatever was sent along.
        check("10.0.0.1", &["127.0.0.1, 198.51.100.7"], "198.51.100.7");
        check("10.0.0.1", &["127.0.0.1", "198.51.100.7 , 10.0.0.2"], "198.51.100.7");
        check("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3");
        // With a port, as some write it; what is no address ends it.
        check("10.0.0.1", &["198.51.100.7:4711"], "198.51.100.7");
        check("10.0.0.1", &["[2001:db8::7]:4711"], "2001:db8::7");
        check("10.0.0.1", &["[2001:db8::7]"], "2001:db8::7");
        check("10.0.0.1", &["198.51.100.7, unknown, 10.0.0.2"], "10.0.0.2");
        check("10.0.0.1", &["\u{e9}"], "10.0.0.1");
    }
}
