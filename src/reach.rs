//! Which machines may be talked to. A service that lists servers and calls webhooks for others must not become their way
//! into the network it stands in: what a name resolves to is judged after it was resolved, and the connection goes to what
//! was judged.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

pub use ipnet::IpNet;
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// Which machines may be talked to over HTTP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reach {
    /// All: whoever named the server may reach them anyway.
    #[default]
    Anywhere,
    /// Those of the public internet, and of these networks. No proxy of the environment is used, because it would
    /// resolve names by itself.
    Public(Vec<IpNet>),
}

impl Reach {
    /// Whether this address may be talked to.
    #[must_use]
    pub fn allows(&self, address: IpAddr) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Public(also) => {
                is_public(address) || also.iter().any(|network| network.contains(&address.to_canonical()))
            }
        }
    }

    /// The address that a URL names outright and that may not be talked to. Such a URL asks no resolver.
    pub(crate) fn refuses(&self, url: &Url) -> Option<IpAddr> {
        let host = url.host_str()?;
        let address: IpAddr = host.trim_start_matches('[').trim_end_matches(']').parse().ok()?;
        (!self.allows(address)).then_some(address)
    }

    /// What resolves names; nothing where everything is allowed.
    pub(crate) fn resolver(&self) -> Option<Arc<Guard>> {
        (*self != Self::Anywhere).then(|| Arc::new(Guard(self.clone())))
    }
}

/// Resolves names, and forgets the addresses that may not be talked to.
pub(crate) struct Guard(Reach);

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let (good, bad): (Vec<_>, Vec<_>) = found.into_iter().partition(|a| reach.allows(a.ip()));
            match (good.is_empty(), bad.first()) {
                (true, Some(bad)) => Err(refusal(name.as_str(), bad.ip()).into()),
                _ => Ok(Box::new(good.into_iter()) as Addrs),
            }
        })
    }
}

/// Why a name is not talked to.
fn refusal(name: &str, address: IpAddr) -> io::Error {
    io::Error::other(format!("`{name}` is {address}, which is no public address"))
}

/// Whether an address belongs to the public internet (IANA's special-purpose registries; RFC 6890 and its updates).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => match carried(v6) {
            Some(v4) => is_public_v4(v4),
            None => is_public_v6(v6),
        },
    }
}

/// The IPv4 address inside an IPv6 one that leads to it: mapped (RFC 4291), NAT64 (RFC 6052), 6to4 (RFC 3056).
fn carried(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = v6.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match s {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

fn is_public_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    let special = match (a, b) {
        (0 | 10 | 127 | 224.., _) | (169, 254) | (192, 168) | (198, 18 | 19) => true,
        (100, 64..=127) | (172, 16..=31) => true,
        (192, 0) => matches!(c, 0 | 2),
        (192, 88) => c == 99,
        (198, 51) => c == 100,
        (203, 0) => c == 113,
        _ => false,
    };
    !special
}

/// Global unicast is `2000::/3`; in it stand protocol assignments (`2001::/23`, Teredo among them) and documentation.
fn is_public_v6(v6: Ipv6Addr) -> bool {
    let s = v6.segments();
    let special = matches!((s[0], s[1]), (0x2001, ..0x200 | 0xdb8) | (0x3fff, _));
    s[0] & 0xe000 == 0x2000 && !special
}

/// What lies at the bottom of a failure; what stands above it only repeats what was asked.
pub fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_reached() {
        for (address, public) in [
            ("8.8.8.8", true),
            ("172.15.0.1", true),
            ("172.32.0.1", true),
            ("100.63.255.255", true),
            ("192.0.3.1", true),
            ("2606:4700::1111", true),
            ("::ffff:8.8.8.8", true),
            ("64:ff9b::808:808", true),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("100.64.0.1", false),
            ("127.0.0.1", false),
            ("127.8.8.8", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.0.0.8", false),
            ("192.0.2.1", false),
            ("192.88.99.1", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("198.51.100.7", false),
            ("203.0.113.9", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::127.0.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("64:ff9b::a9fe:a9fe", false),
            ("64:ff9b:1::1", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("2002:7f00:1::", false),
            ("3fff::1", false),
            ("fc00::1", false),
            ("fd12::1", false),
            ("fe80::1", false),
            ("ff02::1", false),
        ] {
            let address: IpAddr = address.parse().expect("an address");
            assert_eq!(Reach::Public(Vec::new()).allows(address), public, "{address}");
            assert!(Reach::Anywhere.allows(address));
        }
    }

    #[test]
    fn a_network_that_was_named_is_reached_however_it_is_written() {
        let reach = Reach::Public(vec!["10.1.0.0/16".parse().expect("a network")]);
        for (address, allowed) in [("10.1.2.3", true), ("::ffff:10.1.2.3", true), ("10.2.0.1", false)] {
            assert_eq!(reach.allows(address.parse().expect("an address")), allowed, "{address}");
        }
    }
}
