"""HTTP/1.1 servers on sockets, which log requests, delay answers and send them."""

from __future__ import annotations

import re
import socket
import ssl
import struct
import sys
import threading
from collections.abc import Callable
from http.client import responses
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

from tests.hub_emulator.faults import Faults
from tests.hub_emulator.gate import Gate
from tests.hub_emulator.log import LoggedRequest, RequestLog
from tests.hub_emulator.messages import Answer, Host, Request
from tests.hub_emulator.options import Options

POLL_SECONDS = 0.02
CLOSE_SECONDS = 2.0


class Server(ThreadingHTTPServer):
    """One listening host of the emulator."""

    request_queue_size = 512
    daemon_threads = True
    block_on_close = False

    def __init__(
        self,
        address: tuple[str, int],
        host: Host,
        respond: Callable[[Request], Answer],
        log: RequestLog,
        faults: Faults,
        options: Options,
        gate: Gate,
        tls: ssl.SSLContext | None,
    ) -> None:
        super().__init__(address, Handler)
        self.scheme = "http"
        if tls is not None:
            self.scheme = "https"
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.host, self.respond = host, respond
        self.log, self.faults, self.options, self.gate = log, faults, options, gate
        self.closing = threading.Event()
        self.internal_errors: list[BaseException] = []
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self.serve_forever, args=(POLL_SECONDS,))
        self._thread.daemon = True

    @property
    def endpoint(self) -> str:
        """Address of the host, without a trailing slash."""
        address, port = self.server_address[:2]
        return f"{self.scheme}://{address!s}:{port}"

    def start(self) -> None:
        """Serve in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Stop listening and break every open connection."""
        self.closing.set()
        self.shutdown()
        self._thread.join()
        self.server_close()
        with self._changed:
            for connection in self._open:
                _break(connection)
            self._changed.wait_for(lambda: not self._open, CLOSE_SECONDS)

    def server_bind(self) -> None:
        """Bind without the base class's reverse DNS lookup, which may send packets elsewhere."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Register the connection before its thread starts."""
        self.log.connected()
        with self._changed:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Unregister the connection once it is closed."""
        super().shutdown_request(request)
        with self._changed:
            self._open.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Store an error of the emulator for `close` to raise; ignore clients that hang up."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            self.internal_errors.append(error)


class Handler(BaseHTTPRequestHandler):
    """Reads the requests of one connection and writes their answers."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def handle_request(self) -> None:
        """Log a request, wait for its wave and the latency, then answer."""
        request = self._request()
        log = self.server.log
        logged = log.arrived(request)
        try:
            self.server.gate.wait()
            if self.server.options.latency:
                self.server.closing.wait(self.server.options.latency)
            answer = self.server.faults.respond(request, self.server.respond)
            if answer.drop == "hang":
                self.server.closing.wait()
        finally:
            log.answered(logged)
        if answer.drop:
            self._drop()
        else:
            logged.status = answer.status
            self._send(answer, logged)

    # The base class calls a method of this name for each HTTP method.
    do_GET = do_HEAD = do_CONNECT = handle_request

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def _request(self) -> Request:
        # A request to a proxy has the absolute address (RFC 9112 3.2.2).
        target = re.sub("^http://[^/]*", "", self.path)
        path, _, query = target.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.command, self.server.host, path, query, headers)

    def _drop(self) -> None:
        """Close with a TCP reset instead of an answer."""
        linger_none = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_none)
        self.connection.close()
        self.close_connection = True

    def _send(self, answer: Answer, logged: LoggedRequest) -> None:
        head = self._head(answer)
        stop = answer.stop
        if answer.stop_after is not None:
            stop = min(answer.start + answer.stop_after, stop)
            self.close_connection = True
        if self.command == "HEAD" or answer.start >= stop:
            self.wfile.write(head)
            return
        if answer.drips:
            self._drip(head, answer, logged)
            return
        for start in range(answer.start, stop, answer.piece):
            if start > answer.start and answer.delay and self.server.closing.wait(answer.delay):
                break
            piece = answer.source.read(start, min(start + answer.piece, stop))
            # Count before sending: a client with the last byte may read the log at once.
            logged.body_bytes_sent += len(piece)
            self.wfile.write(head + (_chunk(piece) if answer.chunked else piece))
            head = b""
        if answer.chunked and stop == answer.stop:
            self.wfile.write(_chunk(b""))

    def _drip(self, head: bytes, answer: Answer, logged: LoggedRequest) -> None:
        """Send the answer in small pieces, from the first byte of its status line on."""
        body = answer.source.read(answer.start, answer.stop)
        message = head + (_chunk(body) + _chunk(b"") if answer.chunked else body)
        logged.body_bytes_sent = len(body)
        for start in range(0, len(message), answer.piece):
            self.wfile.write(message[start : start + answer.piece])
            if self.server.closing.wait(answer.delay):
                break

    def _head(self, answer: Answer) -> bytes:
        length = {"Transfer-Encoding": "chunked"} if answer.chunked else {}
        length = length or {"Content-Length": str(answer.length)}
        headers = {"Date": self.date_time_string(), **length, **answer.headers}
        lines = [f"HTTP/1.1 {answer.status} {responses.get(answer.status, '')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def _break(connection: socket.socket) -> None:
    """Wake the thread that reads from a connection."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the client has closed the connection already
