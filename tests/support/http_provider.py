"""A provider of texts on the internet, as far as a client can see one: a real HTTP server that follows a script."""

import base64
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

__all__ = ["ACCOUNT", "NUMBER", "Provider", "TOKEN"]

ACCOUNT, TOKEN, NUMBER = "AC0123", "s3cret", "+17165550199"


@dataclass
class Provider:
    """Use as a context. `script` holds what the next sendings meet, one word each; without one they are taken.

    `take` and `lose` take the text, `lose` without an answer; a number is a status answered instead, with `headers`.
    """

    script: list[str | int] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    port: int = 0
    beats: int = 0

    def __enter__(self) -> Self:
        provider = self

        class Answer(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
                """Say nothing."""

            def do_POST(self) -> None:
                provider.take(self)

            def do_GET(self) -> None:
                provider.tell(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Answer)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def inbound(self, sender: str, text: str, sent_s: float = 1_796_040_000) -> None:
        """Somebody texts the station, at that second of UTC."""
        self._keep(sender, NUMBER, text, "received", "inbound")["date_sent"] = formatdate(sent_s)

    def _keep(self, sender: str, to: str, text: str, status: str, direction: str) -> dict[str, Any]:
        sid = f"SM{len(self.messages):04d}"
        message = {"sid": sid, "from": sender, "to": to, "body": text, "status": status, "direction": direction}
        message["date_sent"] = formatdate(1_796_040_000)
        self.messages.append(message)
        return message

    def take(self, request: BaseHTTPRequestHandler) -> None:
        """One sending."""
        body = request.rfile.read(int(request.headers.get("Content-Length", 0))).decode()
        fields = {name: values[0] for name, values in parse_qs(body).items()}
        step = self.script.pop(0) if self.script else "take"
        if isinstance(step, int):
            self._answer(request, step, {"code": 20000 + step, "message": "as the script says"}, self.headers)
            return
        self.keys.append(request.headers.get("Idempotency-Key", ""))
        message = self._keep(fields["From"], fields["To"], fields["Body"], "queued", "outbound-api")
        if step == "lose":
            request.close_connection = True
            return
        self._answer(request, 201, message)

    def tell(self, request: BaseHTTPRequestHandler) -> None:
        """One question, or a beat."""
        if request.path == "/beat":
            self.beats += 1
            self._answer(request, 200, {})
            return
        wanted = base64.b64encode(f"{ACCOUNT}:{TOKEN}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {wanted}":
            self._answer(request, 401, {"code": 20003, "message": "Authenticate"})
            return
        place = urlsplit(request.path)
        where = {name: values[0] for name, values in parse_qs(place.query).items()}
        resource = place.path.removeprefix(f"/2010-04-01/Accounts/{ACCOUNT}/").removesuffix(".json")
        if resource == "Balance":
            self._answer(request, 200, {"balance": "12.50", "currency": "USD"})
        elif resource == "Messages":
            found = [
                m
                for m in reversed(self.messages)
                if where.get("To", m["to"]) == m["to"] and where.get("From", m["from"]) == m["from"]
            ]
            self._answer(request, 200, {"messages": found})
        else:
            sid = resource.removeprefix("Messages/")
            known = [m for m in self.messages if m["sid"] == sid]
            self._answer(request, *((200, known[0]) if known else (404, {"code": 20404, "message": "not found"})))

    @staticmethod
    def _answer(
        request: BaseHTTPRequestHandler, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        content = json.dumps(body).encode()
        request.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)
