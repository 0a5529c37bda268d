"""Who asks, and what they may do: tokens and the dashboard's sessions. Knows nothing of HTTP.

A token's text is `pho_<id>_<secret>`. The store keeps a hash of a hash of the secret (SHA-256: 32 random bytes need no
slow one). A session is what the dashboard's cookie holds instead of the token: its id, an end, the hash between the
two, and a signature by what is stored. So every server of a store can check it, it ends with its token, whoever steals
the cookie cannot prolong it, and whoever steals the store cannot make one.
"""

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from photinus.arguments import check_name
from photinus.errors import ArgumentError, AuthenticationError, PermissionDenied, UnknownToken
from photinus.record import Role, TokenRecord

PREFIX = "pho"
MAX_TOKEN = 200  # characters; ours have about 70
MAX_CACHED = 4096  # tokens, and ids that were none
HOW_TO = "set PHOTINUS_TOKEN or send the header `Authorization: Bearer pho_...`; `photinus token create` makes a token"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who sent a request."""

    role: Role
    name: str
    project: str | None = None  # None: all projects
    token_id: str | None = None  # None: the server needs no tokens
    by_cookie: bool = False

    def require(self, role: Role) -> None:
        """Refuse what needs more than this one's role."""
        order = list(Role)
        if order.index(self.role) < order.index(role):
            raise PermissionDenied(
                f"this needs a token with the role {role.value!r}, but {self.name!r} has {self.role.value!r}"
            )

    def sees(self, project: str) -> bool:
        """Whether the studies of a project are this one's business."""
        return self.project is None or self.project == project

    def require_project(self, project: str) -> None:
        """Refuse to put a study where this one could not see it."""
        if not self.sees(project):
            raise PermissionDenied(
                f"this token makes studies in project {self.project!r}, not in {project!r}"
            )


ANYONE = Identity(Role.ADMIN, "anyone on this machine")


def make_token(
    name: str, role: str, *, project: str | None = None, expires_at: datetime | None = None
) -> tuple[TokenRecord, str]:
    """A new token: what `Storage.add_token` keeps, and the text to hand over, which is not kept anywhere."""
    if role not in list(Role):
        raise ArgumentError(f"`role` must be one of {', '.join(Role)}, got {role!r}")
    now = datetime.now(UTC)
    if expires_at is not None and (expires_at.tzinfo is None or expires_at <= now):
        raise ArgumentError(f"`expires_at` must be a time to come, with its time zone, got {expires_at}")
    token_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    record = TokenRecord(
        id=token_id,
        name=check_name("name", name),
        role=Role(role),
        project=None if project is None else check_name("project", project),
        secret_hash=hash_secret(secret),
        created_at=now,
        expires_at=expires_at,
        revoked_at=None,
    )
    return record, f"{PREFIX}_{token_id}_{secret}"


def hash_secret(secret: str) -> str:
    """What the store keeps of a secret."""
    return _sha256(prove(secret))


def prove(secret: str) -> str:
    """What shows that its holder had the secret, which is not in the store either."""
    return _sha256(secret)


def parse_token(text: str) -> tuple[str, str] | None:
    """A token's id and secret; None if the text is no token."""
    parts = text.split("_", 2)
    if len(text) > MAX_TOKEN or len(parts) != 3 or parts[0] != PREFIX or not text.isascii():
        return None
    return (parts[1], parts[2]) if parts[1].isalnum() and parts[2] else None


def identify(record: TokenRecord | None, secret: str, *, now: datetime) -> Identity:
    """Who presents a token, given what the store has under its id."""
    stored = "" if record is None else record.secret_hash
    if not hmac.compare_digest(stored, hash_secret(secret)) or record is None:
        raise AuthenticationError(f"the token is not valid here: {HOW_TO}")
    return _identity(record, now, by_cookie=False)


class Sessions:
    """Makes and checks what the dashboard's cookie holds; see the module's description."""

    def __init__(self, server_key: str | None, lasts_s: float) -> None:
        self._server_key = (server_key or "").encode()
        self.lasts_s = lasts_s

    def issue(self, record: TokenRecord, secret: str, *, now: datetime) -> str:
        """A session for the holder of a token."""
        content = f"{record.id}.{int(now.timestamp() + self.lasts_s)}.{prove(secret)}"
        return f"{content}.{self._signature(record, content)}"

    @staticmethod
    def token_id(text: str) -> str | None:
        """The id of the token behind a session; None if the text is none."""
        parts = text.split(".")
        if len(text) > MAX_TOKEN or len(parts) != 4 or not text.isascii() or not parts[1].isdigit():
            return None
        return parts[0]

    def identify(self, record: TokenRecord | None, text: str, *, now: datetime) -> Identity:
        """Who presents a session, given what the store has under `token_id`."""
        content, _, signature = text.rpartition(".")
        _, end, proof = content.split(".")
        is_genuine = (
            record is not None
            and hmac.compare_digest(record.secret_hash, _sha256(proof))
            and hmac.compare_digest(signature, self._signature(record, content))
        )
        if record is None or not is_genuine or int(end) <= now.timestamp():
            raise AuthenticationError("the session has ended: log in again")
        return _identity(record, now, by_cookie=True)

    def _signature(self, record: TokenRecord, content: str) -> str:
        label = b"photinus session\0" + self._server_key
        key = hmac.digest(record.secret_hash.encode(), label, "sha256")
        return hmac.digest(key, content.encode(), "sha256").hex()


class TokenCache:
    """Tokens as last read, for a few seconds: a request costs no look into the store, a revocation acts soon."""

    def __init__(
        self,
        get_token: Callable[[str], TokenRecord],
        lasts_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._get_token = get_token
        self._lasts_s = lasts_s
        self._clock = clock
        self._mutex = threading.Lock()
        self._found: OrderedDict[str, tuple[float, TokenRecord | None]] = OrderedDict()

    def recall(self, token_id: str) -> tuple[bool, TokenRecord | None]:
        """Whether the id was looked up lately, and the token if there is one."""
        with self._mutex:
            read_at, record = self._found.get(token_id, (float("-inf"), None))
        return self._clock() - read_at < self._lasts_s, record

    def read(self, token_id: str) -> TokenRecord | None:
        """The token as the store has it now; None if there is none."""
        now = self._clock()
        try:
            record = self._get_token(token_id)
        except UnknownToken:
            record = None
        with self._mutex:
            self._found[token_id] = (now, record)
            self._found.move_to_end(token_id)
            while len(self._found) > MAX_CACHED:
                self._found.popitem(last=False)
        return record


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _identity(record: TokenRecord, now: datetime, *, by_cookie: bool) -> Identity:
    if record.revoked_at is not None:
        raise AuthenticationError(f"token {record.name!r} was revoked: ask for another one")
    if record.expires_at is not None and record.expires_at <= now:
        raise AuthenticationError(f"token {record.name!r} has expired: ask for another one")
    return Identity(record.role, record.name, record.project, record.id, by_cookie)
