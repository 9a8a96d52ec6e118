"""Where webhooks may be sent: no class of address that is not public is taken, and no odd spelling."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidInput
from core.settings import Settings
from core.webhooks.addresses import Rules, checked_url, is_public, may_connect

PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e"]
NOT_PUBLIC = {
    "this network": "0.0.0.1",
    "unspecified": "0.0.0.0",
    "private, ten": "10.1.2.3",
    "shared by carriers": "100.64.0.1",
    "a cloud's metadata, shared": "100.100.100.200",
    "loopback": "127.0.0.1",
    "loopback, another": "127.255.255.254",
    "link-local": "169.254.1.1",
    "a cloud's metadata": "169.254.169.254",
    "a cloud's own services": "168.63.129.16",
    "private, 172": "172.31.255.255",
    "protocol assignments": "192.0.0.192",
    "documentation": "192.0.2.1",
    "documentation, second": "198.51.100.7",
    "documentation, third": "203.0.113.7",
    "anycast relay of 6to4": "192.88.99.1",
    "private, 192": "192.168.0.1",
    "benchmarks": "198.18.0.1",
    "multicast": "224.0.0.1",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "unspecified, 6": "::",
    "loopback, 6": "::1",
    "IPv4 mapped": "::ffff:8.8.8.8",
    "IPv4 mapped, private": "::ffff:10.0.0.1",
    "IPv4 compatible": "::8.8.8.8",
    "IPv4 translated": "::ffff:0:8.8.8.8",
    "NAT64": "64:ff9b::808:808",
    "NAT64, local": "64:ff9b:1::1",
    "discard": "100::1",
    "Teredo": "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "ORCHID": "2001:20::1",
    "documentation, 6": "2001:db8::1",
    "documentation, 6, second": "3fff::1",
    "6to4": "2002:808:808::1",
    "6to4 of a private one": "2002:a00:1::1",
    "ISATAP": "2606:4700::5efe:10.0.0.1",
    "ISATAP, universal": "2606:4700::200:5efe:8.8.8.8",
    "segment routing": "5f00::1",
    "unique local": "fd00:ec2::254",
    "link-local, 6": "fe80::1",
    "link-local with a zone": "fe80::1%eth0",
    "public with a zone": "2606:4700:4700::1111%1",
    "site-local": "fec0::1",
    "multicast, 6": "ff02::1",
    "not given out": "4000::1",
}


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_are_public(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize("text", NOT_PUBLIC.values(), ids=NOT_PUBLIC)
def test_no_other_address_is(text: str) -> None:
    address = ip_address(text)
    assert not is_public(address)
    assert not may_connect(address, checked_url("https://hooks.example.org/", Rules()), Rules())


@pytest.mark.parametrize("text", [text for text in NOT_PUBLIC.values() if "%" not in text])
def test_none_can_be_registered_as_a_number(text: str) -> None:
    host = f"[{ip_address(text)}]" if ":" in text else text
    with pytest.raises(InvalidInput) as caught:
        checked_url(f"https://{host}/", Rules())
    assert caught.value.members["field"] == "url"


@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:0:0", "::", "64:ff9b::", "64:ff9b:1::"]))
def test_no_ipv4_address_passes_in_the_clothes_of_another(inner: object, prefix: str) -> None:
    outer = IPv6Address(int(IPv6Address(prefix)) + int(ip_address(str(inner))))
    assert not is_public(outer)


@given(st.ip_addresses(v=6))
def test_what_is_public_is_global_unicast_that_was_given_out(address: object) -> None:
    found = ip_address(str(address))
    if is_public(found):
        assert found.is_global
        assert not any((found.is_multicast, found.is_private, found.is_reserved))
        assert found.sixtofour is None  # type: ignore[union-attr]
        assert found.teredo is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.example.org/graphveil?team=a", "https://hooks.example.org/graphveil?team=a"),
        ("https://HOOKS.Example.org", "https://hooks.example.org/"),
        ("https://hooks.example.org:443/x", "https://hooks.example.org/x"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]/"),
    ],
)
def test_plain_addresses_are_taken(url: str, shown: str) -> None:
    assert checked_url(url, Rules()).url == shown


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.org/",
        "ftp://hooks.example.org/",
        "file:///etc/passwd",
        "gopher://hooks.example.org/",
        "//hooks.example.org/",
        "hooks.example.org",
        "https:///x",
        "https://",
        "https://user@hooks.example.org/",
        "https://user:word@hooks.example.org/",
        "https://hooks.example.org@10.0.0.1/",
        "https://hooks.example.org\\@10.0.0.1/",
        "https://hooks.example.org#@10.0.0.1/",
        "https://hooks.example.org/ x",
        "https://hooks.example.org/\n",
        "https://hooks.example.org\t/",
        "https://hooks.example.org/\u00e9",
        "https://b\u00fccher.example/",
        "https://\uff11\uff12\uff17.0.0.1/",
        "https://hooks\u3002example.org/",
        "https://hooks.example.org./",
        "https://hooks..example.org/",
        "https://-hooks.example.org/",
        "https://hooks_.example.org/",
        "https://localhost/",
        "https://intranet/",
        "https://hooks.example.org:22/",
        "https://hooks.example.org:8443/",
        "https://hooks.example.org:0/",
        "https://hooks.example.org:/",
        "https://hooks.example.org:0443/",
        "https://hooks.example.org:99999/",
        "https://hooks.example.org:4 43/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://127.1/",
        "https://127.0.1/",
        "https://08.8.8.8/",
        "https://8.8.8.8./",
        "https://8.8.8.8.8/",
        "https://8.8.0x8/",
        "https://1.2.3.4.example.0x1/",
        "https://[8.8.8.8]/",
        "https://[2606:4700:4700:0::1111]/",
        "https://[2606:4700:4700::1111%25eth0]/",
        "https://[2606:4700:4700::1111]x/",
        "https://[2606:4700:4700::1111/",
        "https://hooks.example.org/" + "x" * 2_000,
        "https://" + "x" * 64 + ".example.org/",
        "https://" + "x." * 127 + "org/",
    ],
)
def test_everything_else_is_refused_by_its_field(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        checked_url(url, Rules())
    assert caught.value.members["field"] == "url"


def test_further_ports_are_those_of_the_settings() -> None:
    target = checked_url("https://hooks.example.org:8443/", Rules(ports=(443, 8443)))
    assert (target.port, target.authority) == (8443, "hooks.example.org:8443")


def test_private_addresses_only_where_the_settings_say_so_and_http_only_to_this_machine() -> None:
    trial = Rules(ports=(443, 8080), private=True)
    near = checked_url("http://localhost:8080/", trial)
    far = checked_url("https://intranet/", trial)
    for text, by_http, by_https in [
        ("127.0.0.1", True, True),
        ("::1", True, True),
        ("10.0.0.1", False, True),
        ("fd00::1", False, True),
        ("8.8.8.8", False, True),
        ("169.254.169.254", False, False),
        ("224.0.0.1", False, False),
        ("::ffff:127.0.0.1", False, False),
    ]:
        address = ip_address(text)
        assert (may_connect(address, near, trial), may_connect(address, far, trial)) == (by_http, by_https)


@pytest.mark.parametrize(
    ("url", "setting"),
    [
        ("http://hooks.example.org/", "GRAPHVEIL_WEBHOOK_PRIVATE_ADDRESSES"),
        ("https://127.0.0.1/", "GRAPHVEIL_WEBHOOK_PRIVATE_ADDRESSES"),
        ("https://localhost/", "GRAPHVEIL_WEBHOOK_PRIVATE_ADDRESSES"),
        ("https://hooks.example.org:8443/", "GRAPHVEIL_WEBHOOK_PORTS"),
    ],
)
def test_a_refusal_that_a_setting_would_lift_names_it(url: str, setting: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_url(url, Rules())
    assert setting in refused.value.message
    assert setting.removeprefix("GRAPHVEIL_").lower() in Settings.model_fields
