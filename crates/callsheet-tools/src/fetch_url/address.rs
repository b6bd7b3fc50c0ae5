//! Which network addresses a page may come from (spec 5.7): only public ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is refused, as a key of the tool's texts. `None` if it is public.
pub(crate) fn refusal(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => refusal_v4(address),
        IpAddr::V6(address) => refusal_v6(address),
    }
}

fn refusal_v4(address: Ipv4Addr) -> Option<&'static str> {
    Some(match address.octets() {
        [0, ..] => "fetch-at-unspecified",
        [127, ..] => "fetch-at-loopback",
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] => "fetch-at-private",
        [100, 64..=127, ..] => "fetch-at-carrier",
        [169, 254, ..] => "fetch-at-link-local-clouds",
        // A cloud's own services answer here, on every machine of that cloud.
        [168, 63, 129, 16] => "fetch-at-metadata",
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] => "fetch-at-reserved",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "fetch-at-documentation",
        [224..=239, ..] => "fetch-at-multicast",
        [240..=255, ..] => "fetch-at-reserved",
        _ => return None,
    })
}

fn refusal_v6(address: Ipv6Addr) -> Option<&'static str> {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        refusal_v4(Ipv4Addr::new(a, b, c, d))
    };
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => "fetch-at-unspecified",
        [0, 0, 0, 0, 0, 0, 0, 1] => "fetch-at-loopback",
        // IPv4 addresses in another form: mapped, compatible, translated (NAT64), 6to4.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            return v4(high, low);
        }
        [0x64, 0xff9b, 1, ..] | [0x2001, 0..=0x1ff, ..] | [0x100, 0, 0, 0, ..] | [0x5f00, ..] => "fetch-at-reserved",
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => "fetch-at-documentation",
        [0xfc00..=0xfdff, ..] => "fetch-at-private",
        [0xfe80..=0xfebf, ..] => "fetch-at-link-local",
        [0xfec0..=0xfeff, ..] => "fetch-at-private",
        [0xff00..=0xffff, ..] => "fetch-at-multicast",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_are_allowed() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.255.255",
            "192.1.1.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert_eq!(refusal(text.parse().unwrap()), None, "{text}");
        }
    }

    #[test]
    fn addresses_of_this_machine_and_its_networks_are_refused() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.255.254",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "100.100.100.200",
            "169.254.169.254",
            "168.63.129.16",
            "192.0.0.8",
            "198.18.0.1",
            "203.0.113.7",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
        ] {
            assert!(refusal(text.parse().unwrap()).is_some(), "{text}");
        }
    }
}
