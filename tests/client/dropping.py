"""A proxy that loses answers: the server has done what it was asked, and the client does not get to know."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

Message = tuple[str, bytes]  # first line, and everything


@contextlib.contextmanager
def dropping_proxy(url: str, is_dropped: Callable[[str, bytes], bool]) -> Iterator[str]:
    """An address that leads to `url`; answers to requests for which `is_dropped(first line, request)` get lost."""
    listener = socket.create_server(("127.0.0.1", 0))
    target = (urlsplit(url).hostname or "", urlsplit(url).port or 80)
    lines: set[socket.socket] = {listener}

    def accept() -> None:
        with contextlib.suppress(OSError):  # closed: the test is over
            while True:
                line, _ = listener.accept()
                lines.add(line)
                threading.Thread(target=pass_on, args=(line,), daemon=True).start()

    def pass_on(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            while True:
                request = read_message(client)
                if request is None:
                    return
                first_line, content = request
                with socket.create_connection(target) as upstream:
                    upstream.sendall(content)
                    answer = read_message(upstream)
                if answer is None or is_dropped(first_line, content):
                    return
                client.sendall(answer[1])

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for line in lines:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()
        thread.join(10)


def read_message(line: socket.socket) -> Message | None:
    """One request or answer; None if the other side closed before."""
    content = b""
    while b"\r\n\r\n" not in content:
        piece = line.recv(65536)
        if not piece:
            return None
        content += piece
    head = content.partition(b"\r\n\r\n")[0]
    length = 0
    for header in head.split(b"\r\n")[1:]:
        name, _, value = header.partition(b":")
        assert name.lower() != b"transfer-encoding", "this proxy knows lengths only"
        if name.lower() == b"content-length":
            length = int(value)
    while len(content) < len(head) + 4 + length:
        piece = line.recv(65536)
        if not piece:
            return None
        content += piece
    return head.split(b"\r\n")[0].decode(), content


class FirstAnswers:
    """Loses the first answer to every different request that may change something."""

    def __init__(self) -> None:
        self.num_lost = 0
        self._seen: set[bytes] = set()
        self._mutex = threading.Lock()

    def __call__(self, first_line: str, content: bytes) -> bool:
        with self._mutex:
            if first_line.startswith("GET") or content in self._seen:
                return False
            self._seen.add(content)
            self.num_lost += 1
            return True
