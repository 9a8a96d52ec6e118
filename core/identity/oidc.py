"""Bearer tokens of an OpenID Connect issuer. A signed JWT becomes a principal, or is refused.

Sources: RFC 7519 (JWT), RFC 8725 (best current practice), RFC 9068 (access tokens).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import jwt

from core.errors import InvalidInput, Unauthenticated
from core.identity.jwks import SigningKeys
from core.identity.models import Role
from core.identity.service import REFUSED, Principal, check_name, check_slug
from core.logging import get_logger
from core.settings import Settings

KEY_ID_PREFIX = "oidc:"
REQUIRED = ("iss", "aud", "exp", "iat", "sub")
# A logout token or a security event of the same issuer and audience is no permission to call.
TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})

log = get_logger(__name__)


class Issuer:
    """Checks the tokens of the issuer that the settings name. Safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._keys = SigningKeys(settings)
        self._decoder = jwt.PyJWT({"require": list(REQUIRED)})

    def principal(self, token: str) -> Principal:
        """Check that the token is in force. It was signed for this service; returned is who it says is
        calling.

        Roles that are unknown are left out; a token without any of ours is a caller who may do nothing.
        Raises Unauthenticated, with one text for every cause; IssuerUnavailable: it cannot be checked now.
        """
        try:
            return self._principal(self._claims(token, self._settings.oidc_audience))
        except (jwt.PyJWTError, InvalidInput, ValueError, TypeError, OverflowError, RecursionError) as error:
            log.info("token_refused", error=type(error).__name__)
            raise Unauthenticated(REFUSED) from None

    def signed_in(self, id_token: str, access_token: str, nonce: str) -> Principal:
        """Check both tokens that a code was given for. Returned is who signed in.

        The ID token must be for the console's client and name ``nonce``. Where that client is the service's
        audience too, it also says who somebody is; otherwise the access token does, as it would to the API,
        and must be of the same subject. Where the ID token names the access token's hash, it must be that of
        the one that came. Raises as :meth:`principal` does.
        """
        settings = self._settings
        try:
            client = settings.oidc_client_id
            identity = self._claims(id_token, client)
            # Of several audiences the token must say which one
            # it was given to (OpenID Connect Core 1.0, 3.1.3.7).
            alone = identity["aud"] in (client, [client])
            if identity.get("azp", client if alone else None) != client:
                raise ValueError("the token was given to another client")
            # In a time that does not depend on how much of it agrees.
            if not hmac.compare_digest(str(identity.get("nonce", "")).encode(), nonce.encode()):
                raise ValueError("the token answers another sign-in")
            if "at_hash" in identity and not hmac.compare_digest(
                str(identity["at_hash"]).encode(),
                at_hash(jwt.get_unverified_header(id_token)["alg"], access_token),
            ):
                raise ValueError("the access token is another one than the ID token came with")
            claims = identity
            if settings.oidc_audience != client:
                claims = self._claims(access_token, settings.oidc_audience)
            if claims["sub"] != identity["sub"]:
                raise ValueError("the tokens are of two subjects")
            return self._principal(claims)
        except (jwt.PyJWTError, InvalidInput, ValueError, TypeError, OverflowError, RecursionError) as error:
            log.info("token_refused", error=type(error).__name__)
            raise Unauthenticated(REFUSED) from None

    def _claims(self, token: str, audience: str) -> dict[str, Any]:
        header = jwt.get_unverified_header(token)
        algorithm, key_id = header.get("alg"), header.get("kid")
        # Before any key is looked for: never `none`, never a shared secret, whatever the header says. Keys
        # and addresses of keys inside the header (jwk, jku, x5u, x5c) are never looked at.
        if algorithm not in self._settings.oidc_algorithms or not isinstance(key_id, str):
            raise ValueError("the header names no accepted algorithm or no key")
        if str(header.get("typ", "JWT")).lower() not in TYPES or "crit" in header:
            raise ValueError("not a token for calling an api")
        key = self._keys.find(key_id, algorithm)
        if key is None:
            raise ValueError("the issuer has no such key")
        settings = self._settings
        return self._decoder.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=audience,
            issuer=settings.oidc_issuer,
            leeway=settings.oidc_leeway_seconds,
        )

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        settings = self._settings
        tenant = _text(claims, settings.oidc_tenant_claim)
        check_slug(tenant, "tenant")
        person = _text(claims, settings.oidc_person_claim)
        check_name(person, "person")
        team = None
        if settings.oidc_team_claim and claim(claims, settings.oidc_team_claim) is not None:
            team = _text(claims, settings.oidc_team_claim)
            check_slug(team, "team")
        return Principal(
            tenant=tenant,
            key_id=key_id_of(settings.oidc_issuer, claims["sub"]),
            name=person,
            roles=_roles(claim(claims, settings.oidc_roles_claim), settings.oidc_roles_prefix)
            | _roles_of_groups(claim(claims, settings.oidc_groups_claim), settings.oidc_group_roles),
            person=person,
            team=team,
            expires_at=datetime.fromtimestamp(int(claims["exp"]), UTC),
        )


def at_hash(algorithm: str, access_token: str) -> bytes:
    """Hash an access token as an ID token names it. It is the left half, in base64url.

    Source: OpenID Connect Core 1.0, section 3.1.3.6. The hash is that of the signature; EdDSA's is SHA-512
    (Ed25519).
    """
    digest = hashlib.new(f"sha{algorithm[-3:]}" if algorithm[-3:].isdigit() else "sha512")
    digest.update(access_token.encode())
    half = digest.digest()[: digest.digest_size // 2]
    return base64.urlsafe_b64encode(half).rstrip(b"=")


def key_id_of(issuer: str, subject: str) -> str:
    """Return one id for all tokens of a subject. It is such as ``oidc:2f0c...``: 160 bits, and no name in
    them."""
    # As a JSON list: no two pairs of issuer and subject have one text.
    whole = json.dumps([issuer, subject]).encode()
    return KEY_ID_PREFIX + hashlib.sha256(whole).hexdigest()[:40]


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return the claim of that name. Where there is none, it is that at the dotted path
    (``realm_access.roles``)."""
    # The whole name first: a claim may be called by an address, dots and all.
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claim(claims, name)
    if not isinstance(value, str):
        raise ValueError("a required claim is missing")
    return value


def _roles_of_groups(value: Any, roles: Mapping[str, Sequence[Role]]) -> frozenset[Role]:
    """Add up the roles of the groups in the list, each named whole in the settings."""
    groups = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    return frozenset(role for group in groups for role in roles.get(group, ()))


def _roles(value: Any, prefix: str) -> frozenset[Role]:
    """Pick our roles from a list, or from a text with spaces between them."""
    named = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return frozenset(role for role in Role if prefix + role in named)
