"""Tokens of an OpenID Connect issuer: what opens the service, and everything that does not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm
from structlog.testing import capture_logs

from core.errors import Unauthenticated
from core.identity.models import Role
from core.identity.oidc import Issuer, key_id_of
from core.identity.service import REFUSED
from core.settings import Settings
from tests.support import issuer

pytestmark = pytest.mark.extras

Trusting = Callable[..., Settings]

DEEP = "[" * 9_000


def segment(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def refused(checker: Issuer, token: str) -> None:
    """The token is refused with the one text, and nothing of it is logged."""
    with capture_logs() as lines, pytest.raises(Unauthenticated) as error:
        checker.principal(token)
    assert (error.value.message, error.value.members) == (REFUSED, {})
    assert error.value.__cause__ is None
    for part in token.split("."):
        assert len(part) < 8 or part not in str(lines)


def test_a_token_opens_as_its_claims_say(idp: issuer.Issuer, trusting: Trusting):
    claims = idp.claims(groups={"team": "epi"}, exp=int(time.time()) + 100)
    found = Issuer(trusting(team_claim="groups.team")).principal(
        idp.sign(claims, idp.private["r1"], "RS256", "r1")
    )
    assert found.tenant == "acme"
    assert found.person == found.name == "user-1"
    assert found.team == "epi"
    assert found.roles == {Role.REQUESTER}  # the role that is none of ours is left out
    assert found.expires_at == datetime.fromtimestamp(claims["exp"], UTC)
    assert found.key_id == key_id_of(idp.url, "user-1")
    assert found.key_id.startswith("oidc:")
    assert "user-1" not in found.key_id
    assert len(found.key_id) <= 64


def test_one_subject_is_one_key_and_another_issuers_is_another():
    assert key_id_of("https://a", "u") == key_id_of("https://a", "u")
    assert len({key_id_of("https://a", "u"), key_id_of("https://b", "u"), key_id_of("https://a", "v")}) == 3
    assert key_id_of("https://a", "b/u") != key_id_of("https://a/b", "u")


@pytest.mark.parametrize(
    ("algorithm", "curve"),
    [
        ("RS256", None),
        ("RS512", None),
        ("PS256", None),
        ("ES256", ec.SECP256R1()),
        ("ES384", ec.SECP384R1()),
        ("ES512", ec.SECP521R1()),
        ("EdDSA", None),
    ],
)
def test_every_accepted_algorithm_opens(
    idp: issuer.Issuer, trusting: Trusting, algorithm: str, curve: ec.EllipticCurve | None
):
    if algorithm == "EdDSA":
        idp.add_ed("k")
    elif curve is not None:
        idp.add_ec("k", curve)
    else:
        idp.add_rsa("k")
    checker = Issuer(trusting(algorithms=(algorithm,)))
    assert checker.principal(idp.token("k", algorithm)).tenant == "acme"
    refused(Issuer(trusting(algorithms=("PS512",))), idp.token("k", algorithm))


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": 1},
        {"exp": None},
        {"exp": "soon"},
        {"exp": float("inf")},
        {"exp": 10**400},
        {"nbf": 10**11},
        {"iat": 10**11},
        {"iat": None},
        {"iss": "http://127.0.0.1:1"},
        {"iss": None},
        {"iss": ""},
        {"aud": "another-service"},
        {"aud": ["another-service", "a-third"]},
        {"aud": None},
        {"aud": []},
        {"sub": None},
        {"sub": 17},
        {"sub": ""},
        {"sub": "padded "},
        {"sub": "u" * 129},
        {"sub": "line\nbreak"},
        {"tenant": None},
        {"tenant": "Acme"},
        {"tenant": "acme\n"},
        {"tenant": ["acme"]},
        {"tenant": {"acme": 1}},
        {"tenant": "a" * 65},
        {"tenant": "../acme"},
    ],
)
def test_claims_that_open_nothing(idp: issuer.Issuer, trusting: Trusting, changes: dict[str, Any]):
    refused(Issuer(trusting()), idp.token("r1", **changes))


def test_clocks_may_be_apart_by_the_leeway(idp: issuer.Issuer, trusting: Trusting):
    late = idp.token("r1", exp=int(time.time()) - 10)
    early = idp.token("r1", nbf=int(time.time()) + 250, iat=int(time.time()) + 250)
    generous, strict = Issuer(trusting(leeway_seconds=300)), Issuer(trusting(leeway_seconds=0))
    for token in (late, early):
        assert generous.principal(token).tenant == "acme"
        refused(strict, token)


def test_one_of_several_audiences_may_be_ours(idp: issuer.Issuer, trusting: Trusting):
    assert Issuer(trusting()).principal(idp.token("r1", aud=["other", issuer.AUDIENCE])).tenant == "acme"


@pytest.mark.parametrize(
    ("claim", "value", "prefix", "expected"),
    [
        ("roles", [], "", set()),
        ("roles", None, "", set()),
        ("roles", "requester auditor admin", "", {Role.REQUESTER, Role.AUDITOR}),
        ("roles", ["Curator", "CURATOR", "curator ", 7, None, {"curator": 1}], "", set()),
        ("roles", {"curator": True}, "", set()),
        ("roles", ["gv-curator", "operator"], "gv-", {Role.CURATOR}),
        ("realm_access.roles", {"roles": ["curator"]}, "", {Role.CURATOR}),
        ("https://example.org/roles", ["operator"], "", {Role.OPERATOR}),
    ],
)
def test_roles_are_ours_or_none(
    idp: issuer.Issuer, trusting: Trusting, claim: str, value: Any, prefix: str, expected: set[Role]
):
    changes = {"roles": None, claim.split(".")[0] if "://" not in claim else claim: value}
    checker = Issuer(trusting(roles_claim=claim, roles_prefix=prefix))
    assert checker.principal(idp.token("r1", **changes)).roles == expected


def test_a_team_that_is_none_is_refused(idp: issuer.Issuer, trusting: Trusting):
    checker = Issuer(trusting(team_claim="team"))
    assert checker.principal(idp.token("r1")).team is None
    for team in ("Team A", ["epi"], "", 3):
        refused(checker, idp.token("r1", team=team))


def test_a_public_key_is_no_shared_secret(idp: issuer.Issuer, trusting: Trusting):
    """The attack of RFC 8725, 2.1: a token under HMAC whose secret is the issuer's published key."""
    public = idp.private["r1"].public_key()
    forms = [
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        json.dumps(idp.jwks[0]).encode(),
        b"",
    ]
    checker = Issuer(trusting())
    for secret in forms:
        signed = segment({"alg": "HS256", "typ": "JWT", "kid": "r1"}) + "." + segment(idp.claims())
        mac = hmac.digest(secret, signed.encode(), hashlib.sha256)
        refused(checker, f"{signed}.{segment(mac)}")
    idp.jwks.append({"kty": "oct", "kid": "o1", "use": "sig", "k": segment(b"0" * 32)})
    refused(Issuer(trusting()), idp.sign(idp.claims(), b"0" * 32, "HS256", "o1"))


@pytest.mark.parametrize("name", ["none", "None", "NONE", "", "HS256", "ES256K", None, ["RS256"], {"a": 1}])
def test_no_signature_is_no_token(idp: issuer.Issuer, trusting: Trusting, name: Any):
    checker = Issuer(trusting())
    head = segment({"alg": name, "typ": "JWT", "kid": "r1"})
    signature = idp.token("r1").split(".")[2]
    for last in ("", signature):
        refused(checker, f"{head}.{segment(idp.claims())}.{last}")


@pytest.mark.parametrize(
    "headers",
    [
        {"kid": "../../../../dev/null"},
        {"kid": "r1' OR '1'='1"},
        {"kid": "r1\x00"},
        {"kid": ""},
        {"kid": "x" * 5_000},
        {"typ": "logout+jwt"},
        {"typ": "secevent+jwt"},
        {"typ": "dpop+jwt"},
        {"crit": ["exp"]},
    ],
)
def test_headers_that_open_nothing(idp: issuer.Issuer, trusting: Trusting, headers: dict[str, Any]):
    refused(Issuer(trusting()), idp.sign(idp.claims(), idp.private["r1"], "RS256", "r1", headers))


def test_keys_inside_a_header_are_never_used(idp: issuer.Issuer, trusting: Trusting):
    """The attacks of RFC 8725, 2.9 and 2.10: the token brings its own key, or the address of one."""
    own = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    jwk = {**RSAAlgorithm.to_jwk(own.public_key(), as_dict=True), "kid": "mine"}
    checker = Issuer(trusting())
    for key_id in ("mine", "r1"):
        for headers in ({"jwk": jwk}, {"jku": idp.url + "/evil"}, {"x5u": idp.url + "/evil"}):
            refused(checker, idp.sign(idp.claims(), own, "RS256", key_id, headers))
    assert "/evil" not in idp.served


def test_a_token_without_a_key_id_opens_nothing(idp: issuer.Issuer, trusting: Trusting):
    refused(Issuer(trusting()), idp.sign(idp.claims(), idp.private["r1"], "RS256", None))


def test_a_key_serves_its_own_algorithm_alone(idp: issuer.Issuer, trusting: Trusting):
    idp.add_rsa("ps", alg="PS256")
    idp.add_ec("e384", ec.SECP384R1())
    checker = Issuer(trusting(algorithms=("RS256", "PS256", "ES256", "ES384")))
    assert checker.principal(idp.token("ps", "PS256")).tenant == "acme"
    refused(checker, idp.token("ps", "RS256"))
    assert checker.principal(idp.token("e384", "ES384")).tenant == "acme"
    refused(checker, idp.sign(idp.claims(), idp.add_ec("x"), "ES256", "e384"))


@pytest.mark.parametrize(
    "members", [{"use": "enc"}, {"key_ops": ["encrypt"]}, {"key_ops": "verify"}, {"kid": 7}, {"n": None}]
)
def test_keys_for_other_purposes_verify_nothing(
    idp: issuer.Issuer, trusting: Trusting, members: dict[str, Any]
):
    idp.add_rsa("other", **members)
    refused(Issuer(trusting()), idp.token("other"))


def test_short_keys_verify_nothing(idp: issuer.Issuer, trusting: Trusting):
    idp.add_rsa("short", bits=1024)
    refused(Issuer(trusting()), idp.token("short"))


def test_a_changed_token_opens_nothing(idp: issuer.Issuer, trusting: Trusting):
    checker = Issuer(trusting())
    head, body, signature = idp.token("r1").split(".")
    other = segment(idp.claims(tenant="other"))
    flipped = ("B" if signature[0] != "B" else "C") + signature[1:]
    for token in (
        f"{head}.{other}.{signature}",
        f"{head}.{body}.{flipped}",
        f"{head}.{body}.",
        f"{head}.{body}",
        f"{head}..{signature}",
        f"{head}.{body}.{signature}.x",
        f" {head}.{body}.{signature}",
        f"{head}.{body}.{signature}=",
    ):
        refused(checker, token)
    assert checker.principal(f"{head}.{body}.{signature}").tenant == "acme"


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "...",
        "gv_" + "x" * 43,
        "\x00.\x00.\x00",
        "é.é.é",
        f"{segment(b'{}')}.{segment(b'{}')}.x",
        f"{segment(b'[]')}.{segment(b'[]')}.x",
        f"{segment(DEEP.encode())}.{segment(b'{}')}.x",
        "a" * 60_000,
    ],
)
def test_what_is_no_token_at_all(idp: issuer.Issuer, trusting: Trusting, token: str):
    refused(Issuer(trusting()), token)
    assert idp.served[issuer.KEYS] == 0


def test_a_deep_payload_is_refused(idp: issuer.Issuer, trusting: Trusting):
    signed = f"{segment({'alg': 'RS256', 'kid': 'r1'})}.{segment(DEEP.encode())}"
    signature = idp.private["r1"].sign(signed.encode(), PKCS1v15(), SHA256())
    refused(Issuer(trusting()), f"{signed}.{segment(signature)}")


@pytest.mark.parametrize(
    "address",
    [
        "http://issuer.example",
        "ftp://127.0.0.1",
        "https://",
        "issuer.example",
        "https://user:secret@issuer.example",
        "http://127.0.0.1.example.org",
        "http://[::1",
    ],
)
def test_an_issuer_must_be_reached_in_secret(trusting: Trusting, address: str):
    with pytest.raises(ValueError, match="oidc_issuer"):
        trusting(issuer=address)
    with pytest.raises(ValueError, match="OIDC_ISSUER"):
        Issuer(trusting().model_copy(update={"oidc_issuer": address}))


def test_an_issuer_needs_an_audience(trusting: Trusting):
    with pytest.raises(ValueError, match="oidc_audience"):
        trusting(audience="")


def test_no_shared_secret_can_be_configured(trusting: Trusting):
    for name in ("HS256", "none", "ES256K", "rs256"):
        with pytest.raises(ValueError, match="oidc_algorithms"):
            trusting(algorithms=(name,))


MAPPED = {"/research/epi": ["requester"], "5C1F-stewards": ["curator", "auditor"]}


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (["/research/epi"], {"requester"}),
        (["/research/epi", "5C1F-stewards", "others"], {"requester", "curator", "auditor"}),
        (["5c1f-stewards", "research/epi", "/research/epi/x", "curator"], set()),  # whole, as it is written
        ([["/research/epi"], {"a": 1}, 7, None], set()),
        ("/research/epi", set()),  # a text is no list of groups: one may have a space in its name
        ({"/research/epi": True}, set()),
        (None, set()),
    ],
)
def test_groups_have_the_roles_that_the_settings_give_them(
    idp: issuer.Issuer, trusting: Trusting, groups: Any, expected: set[str]
):
    token = idp.sign(idp.claims(roles=[], directory={"groups": groups}), idp.private["r1"], "RS256", "r1")
    settings = trusting(groups_claim="directory.groups", group_roles=MAPPED)
    assert Issuer(settings).principal(token).roles == expected
    assert Issuer(trusting(groups_claim="directory.groups")).principal(token).roles == set()


def test_roles_of_groups_are_added_to_those_that_a_token_names(idp: issuer.Issuer, trusting: Trusting):
    token = idp.sign(idp.claims(groups=["5C1F-stewards"]), idp.private["r1"], "RS256", "r1")
    found = Issuer(trusting(group_roles=MAPPED)).principal(token)
    assert found.roles == {Role.REQUESTER, Role.CURATOR, Role.AUDITOR}


def test_a_group_of_a_role_that_there_is_none_of_stops_the_start(trusting: Trusting):
    with pytest.raises(ValueError, match="oidc_group_roles"):
        trusting(group_roles={"stewards": ["administrator"]})
    for role in Role:
        assert trusting(group_roles={"stewards": [role]}).oidc_group_roles == {"stewards": (role,)}
