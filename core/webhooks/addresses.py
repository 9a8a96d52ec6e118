"""Where webhooks may be sent. It is to public addresses, under names and numbers that are written in one way
only.

Whoever registers an endpoint chooses an address that this service will connect to. So the address is parsed
strictly here, and what its name resolves to is checked, address by address, before anything is connected.
Ranges are those of IANA's registries of special-purpose addresses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from core.errors import InvalidInput

MAX_URL_CHARACTERS = 2_000

Address = IPv4Address | IPv6Address

_PLAIN = re.compile(r"[!-~]+")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")
_MEND = "Give an address such as https://hooks.example.org/graphveil."

NOT_PUBLIC_4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
        "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # a cloud's own services, on an address that looks public
    )
)  # fmt: skip
GLOBAL_6 = IPv6Network("2000::/3")
"""The only IPv6 unicast given out so far. Mapped, compatible, NAT64, local and multicast ones lie outside."""
NOT_PUBLIC_6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments, Teredo among them: an IPv4 address is hidden inside
        "2001:db8::/32", "2002::/16",  # documentation; 6to4: another one inside
        "2620:4f:8000::/48", "3ffe::/16", "3fff::/20",
    )
)  # fmt: skip
# The words that stand before the IPv4 address, of local and of global ones (RFC 5214, section 6.1).
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})
PRIVATE = tuple(
    IPv4Network(text) for text in ("10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
)
PRIVATE_6 = (IPv6Network("::1/128"), IPv6Network("fc00::/7"))


@dataclass(frozen=True)
class Rules:
    """The ports that may be used. It says too whether private addresses may be: over http on this machine
    only."""

    ports: tuple[int, ...] = (443,)
    private: bool = False


@dataclass(frozen=True)
class Target:
    """A checked address. ``host`` is a name in lower case, or a number in its one spelling."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = {"https": 443, "http": 80}[self.scheme]
        return host if self.port == default else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The address as text."""
        return f"{self.scheme}://{self.authority}{self.path}"


_UNLESS = (
    ". For trials on one machine or a private network, the operator sets GRAPHVEIL_WEBHOOK_PRIVATE_ADDRESSES."
)


def checked_url(url: str, rules: Rules) -> Target:
    """Parse the address. InvalidInput with ``field`` for any that is not plainly one that may be used.

    What a name stands for is not asked here: that can change, and is checked at every delivery.
    """
    if len(url) > MAX_URL_CHARACTERS or not _PLAIN.fullmatch(url) or "\\" in url or "#" in url:
        raise _refused("The address holds characters that an address has no use for, or is too long.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _refused("This is not an address.") from error
    scheme = parts.scheme
    if scheme != "https" and not (scheme == "http" and rules.private):
        raise _refused(f"Webhooks are sent over https only{_UNLESS}")
    if "@" in parts.netloc:
        raise _refused("The address must carry no user name or password.")
    host = _checked_host(parts.hostname or "", bracketed=parts.netloc.startswith("["), rules=rules)
    written = f"[{host}]" if ":" in host else host
    # As it would be written from its parts, or not at all: else another program may read another host in it.
    if parts.netloc.lower() not in (written, f"{written}:{port}"):
        raise _refused("This is not the name of a host, with or without a port.")
    port = port if port is not None else {"https": 443, "http": 80}[scheme]
    if port not in rules.ports:
        allowed = ", ".join(map(str, rules.ports))
        raise _refused(
            f"Webhooks are not sent to port {port}; allowed: {allowed} "
            "(the operator's setting GRAPHVEIL_WEBHOOK_PORTS)."
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    target = Target(scheme, host, port, path)
    literal = _literal(host)
    if literal is not None and not may_connect(literal, target, rules):
        raise _refused(f"This address is not a public one{_UNLESS}")
    return target


def may_connect(address: Address, target: Target, rules: Rules) -> bool:
    """Tell whether this address of the target may be connected to."""
    if target.scheme == "https" and is_public(address):
        return True
    if not rules.private:
        return False
    ranges = PRIVATE if isinstance(address, IPv4Address) else PRIVATE_6
    near = any(address in network for network in ranges)
    return near and (target.scheme == "https" or address.is_loopback)


def is_public(address: Address) -> bool:
    """Tell whether the address is public. It is one of the public internet, and hides no other address
    inside."""
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in NOT_PUBLIC_4)
    if address.scope_id is not None or address not in GLOBAL_6 or not address.is_global:
        return False
    # ISATAP puts an IPv4 address behind a fixed word, under any prefix.
    inner = (int(address) >> 32) & 0xFFFFFFFF
    return inner not in _ISATAP and not any(address in network for network in NOT_PUBLIC_6)


def _checked_host(host: str, *, bracketed: bool, rules: Rules) -> str:
    # A host whose last label is a number is an IPv4 address to some programs, in whatever spelling.
    if bracketed or _NUMBER.fullmatch(host.rsplit(".", 1)[-1]):
        literal = _literal(host)
        # One spelling: others are read differently by different programs.
        if literal is None or str(literal) != host or bracketed != (literal.version == 6):
            raise _refused("Write a numeric address in its usual form, or use a name.")
        return host
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _refused("This is not the name of a host. Write international names in their xn-- form.")
    if len(labels) < 2 and not rules.private:
        raise _refused(f"Give the host's full name{_UNLESS}")
    return host


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _refused(message: str) -> InvalidInput:
    return InvalidInput(message, field="url", how_to_mend=_MEND)
