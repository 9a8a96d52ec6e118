"""An OpenID Connect issuer on this machine, over real HTTP, that signs whatever a test asks for."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.support.patience import PATIENCE_SECONDS

AUDIENCE = "graphveil"
DISCOVERY = "/.well-known/openid-configuration"
KEYS = "/keys"


class Issuer:
    """Serves discovery and keys; ``served`` counts requests by path. Attributes may be changed."""

    def __init__(self) -> None:
        self.private: dict[str, Any] = {}
        self.jwks: list[dict[str, Any]] = []
        self.served: dict[str, int] = {DISCOVERY: 0, KEYS: 0}
        self.status = 200
        self.pause_seconds = 0.0
        self.open = threading.Event()  # while it is not set, no answer leaves
        self.open.set()
        self.padding = 0
        self.redirect: str | None = None
        self.document: dict[str, Any] = {}
        self.raw: bytes | None = None
        self.url = ""
        self.tokens: dict[str, Any] | None = None  # what a code is changed for; None: it is refused
        self.sent: list[str] = []  # the forms that codes came with

    def add_rsa(self, key_id: str, bits: int = 2048, **members: Any) -> Any:
        """The issuer publishes an RSA key, and signs with it."""
        key = rsa.generate_private_key(public_exponent=65_537, key_size=bits)
        return self._add(key_id, key, RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), members)

    def add_ec(self, key_id: str, curve: ec.EllipticCurve | None = None, **members: Any) -> Any:
        """The issuer publishes a key on P-256, or another curve."""
        key = ec.generate_private_key(curve or ec.SECP256R1())
        return self._add(key_id, key, ECAlgorithm.to_jwk(key.public_key(), as_dict=True), members)

    def add_ed(self, key_id: str, **members: Any) -> Any:
        """The issuer publishes an Ed25519 key."""
        key = ed25519.Ed25519PrivateKey.generate()
        return self._add(key_id, key, OKPAlgorithm.to_jwk(key.public_key(), as_dict=True), members)

    def remove(self, key_id: str) -> None:
        """The issuer publishes that key no more."""
        self.jwks = [key for key in self.jwks if key["kid"] != key_id]

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Claims that open the service; a change of None leaves a claim out."""
        now = int(time.time())
        whole = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "user-1",
            "iat": now,
            "exp": now + 300,
            "tenant": "acme",
            "roles": ["requester", "reader-of-mail"],
            **changes,
        }
        return {name: value for name, value in whole.items() if value is not None}

    def token(
        self, key_id: str, algorithm: str = "RS256", headers: dict[str, Any] | None = None, **changes: Any
    ) -> str:
        """A token over ``claims(**changes)``, signed with the key of that id."""
        return self.sign(self.claims(**changes), self.private[key_id], algorithm, key_id, headers)

    @staticmethod
    def sign(
        claims: dict[str, Any],
        key: Any,
        algorithm: str,
        key_id: str | None,
        headers: dict[str, Any] | None = None,
    ) -> str:
        """A token as its parts say."""
        head = {} if key_id is None else {"kid": key_id}
        return jwt.encode(claims, key, algorithm=algorithm, headers={**head, **(headers or {})})

    def _add(self, key_id: str, key: Any, public: dict[str, Any], members: dict[str, Any]) -> Any:
        self.private[key_id] = key
        published = {**public, "kid": key_id, "use": "sig", **members}
        self.jwks.append({name: value for name, value in published.items() if value is not None})
        return key

    def _answer(self, path: str) -> bytes:
        if self.raw is not None:
            return self.raw
        if path == DISCOVERY:
            found = {"issuer": self.url, "jwks_uri": self.url + KEYS, **self.document}
        else:
            found = {"keys": self.jwks, "padding": "x" * self.padding}
        return json.dumps(found).encode()


def challenge_of(verifier: str) -> str:
    """What PKCE's S256 makes of a verifier (RFC 7636, section 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


@contextmanager
def running() -> Iterator[Issuer]:
    """An issuer without keys, for as long as the context."""
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.served[self.path] = issuer.served.get(self.path, 0) + 1
            time.sleep(issuer.pause_seconds)
            issuer.open.wait(timeout=PATIENCE_SECONDS)
            body = issuer._answer(self.path)
            self.send_response(302 if issuer.redirect else issuer.status)
            if issuer.redirect:
                self.send_header("Location", issuer.redirect)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            issuer.sent.append(self.rfile.read(length).decode())
            body = json.dumps(issuer.tokens or {"error": "invalid_grant"}).encode()
            self.send_response(400 if issuer.tokens is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    issuer.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=PATIENCE_SECONDS)
