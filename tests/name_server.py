"""NameServer: answers over UDP of loopback which address a name has, as Docker's own does."""

from __future__ import annotations

import socket
import struct
import threading
from typing import Self

_ANSWERED, _NO_SUCH_NAME = 0x8180, 0x8183
_HEADER = struct.Struct(">6H")
_RECORD = struct.Struct(">HHHIH")
_KEPT_SECONDS = 600  # Docker's value; the proxy's configuration looks again sooner


class NameServer:
    """Knows the IPv4 addresses in `names`, which tests change; every other name is unknown."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self._socket.getsockname())
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            query, sender = self._socket.recvfrom(512)
            if not query:
                return
            self._socket.sendto(self._reply(query), sender)

    def _reply(self, query: bytes) -> bytes:
        number = query[:2]
        labels, at = [], _HEADER.size
        while length := query[at]:
            labels.append(query[at + 1 : at + 1 + length].decode("ascii"))
            at += 1 + length
        question = query[_HEADER.size : at + 5]
        address = self.names.get(".".join(labels))
        if address is None:
            return number + _HEADER.pack(0, _NO_SUCH_NAME, 1, 0, 0, 0)[2:] + question
        # The record's name is that of the question, by its place; its type is A, its class IN.
        record = _RECORD.pack(0xC000 + _HEADER.size, 1, 1, _KEPT_SECONDS, 4)
        header = number + _HEADER.pack(0, _ANSWERED, 1, 1, 0, 0)[2:]
        return header + question + record + socket.inet_aton(address)
