"""A client of the Debug Adapter Protocol, as small as a test of debugpy needs: one program, one thread at a time."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from dumps import ROOT


class DapClient:
    """Runs ``program`` under a real debugpy adapter and speaks DAP with it over pipes."""

    def __init__(self, program: Path, args: list[str], timeout: float = 120.0) -> None:
        self.timeout = timeout
        self._number = 0
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        self.output: list[str] = []
        self._adapter = subprocess.Popen(
            [sys.executable, "-m", "debugpy.adapter"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.request("initialize", adapterID="depyf", pathFormat="path", linesStartAt1=True, columnsStartAt1=True)
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests" / "torch"), os.environ.get("PYTHONPATH", "")])
        # IDE_PROJECT_ROOTS: what is not the program is a library, as where depyf is installed
        self._launch = self._send(
            "launch",
            {
                "program": str(program), "args": args, "console": "internalConsole", "justMyCode": True, "subProcess": False,
                "python": [sys.executable], "env": {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore",
                    "IDE_PROJECT_ROOTS": str(program.parent)},
            },
        )  # fmt: skip
        self.event("initialized")

    def start(self) -> None:
        """The program runs from here on."""
        self.request("configurationDone")

    def breakpoints(self, path: Path, *lines: int, condition: str | None = None) -> None:
        """Set these, and only these, breakpoints in a file; each must be accepted."""
        points = [{"line": line} | ({"condition": condition} if condition else {}) for line in lines]
        answer = self.request("setBreakpoints", source={"path": str(path)}, breakpoints=points)
        assert all(item["verified"] for item in answer["breakpoints"]), answer

    def stopped(self) -> dict[str, Any]:
        """Wait until the program stops; the innermost frame (source, line, id), with the thread and the reason."""
        body = self.event("stopped")
        frame = self.frames(body["threadId"])[0]
        return frame | {"thread": body["threadId"], "reason": body["reason"]}

    def frames(self, thread: int) -> list[dict[str, Any]]:
        return list(self.request("stackTrace", threadId=thread)["stackFrames"])

    def evaluate(self, expression: str, frame: int) -> str:
        """As typed at the debug console."""
        return str(self.request("evaluate", expression=expression, frameId=frame, context="repl")["result"])

    def watch(self, expression: str, frame: int) -> str:
        """As a watch expression of the editor."""
        return str(self.request("evaluate", expression=expression, frameId=frame, context="watch")["result"])

    def variables(self, frame: int) -> dict[str, str]:
        """The local variables, as the debugger shows them."""
        scopes = self.request("scopes", frameId=frame)["scopes"]
        local = next(scope for scope in scopes if scope["name"] == "Locals")
        found = self.request("variables", variablesReference=local["variablesReference"])["variables"]
        return {item["name"]: item["value"] for item in found}

    def go(self, command: str, thread: int) -> None:
        """``continue``, ``next``, ``stepIn`` or ``stepOut``."""
        self.request(command, threadId=thread)

    def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        return self._answer(self._send(command, arguments))

    def event(self, name: str) -> dict[str, Any]:
        return dict(self._next(lambda m: m["type"] == "event" and m["event"] == name).get("body") or {})

    def close(self) -> None:
        self._adapter.kill()
        self._adapter.wait()
        self._reader.join()
        for stream in (self._adapter.stdin, self._adapter.stdout):
            if stream is not None:
                stream.close()

    def _answer(self, number: int) -> dict[str, Any]:
        message = self._next(lambda m: m["type"] == "response" and m["request_seq"] == number)
        assert message["success"], message
        return dict(message.get("body") or {})

    def _send(self, command: str, arguments: dict[str, Any]) -> int:
        self._number += 1
        data = json.dumps({"seq": self._number, "type": "request", "command": command, "arguments": arguments}).encode()
        assert self._adapter.stdin is not None
        self._adapter.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self._adapter.stdin.flush()
        return self._number

    def _next(self, wanted: Any) -> dict[str, Any]:
        """The first message that is wanted; the others are kept for later calls."""
        for position, message in enumerate(self._kept):
            if wanted(message):
                return self._kept.pop(position)
        while True:
            message = self._messages.get(timeout=self.timeout)
            assert message is not None, "the adapter has ended: " + "".join(self.output)[-3000:]
            if wanted(message):
                return message
            if message["type"] == "event" and message["event"] == "output":
                self.output.append(message["body"]["output"])
            else:
                self._kept.append(message)

    def _read(self) -> None:
        stream = self._adapter.stdout
        assert stream is not None
        while True:
            length = 0
            for line in iter(stream.readline, b""):
                if line == b"\r\n":
                    break
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not length:
                self._messages.put(None)
                return
            self._messages.put(json.loads(stream.read(length)))
