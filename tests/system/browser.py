# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium for tests, spoken to through a pipe in the DevTools protocol.

No driver program, no port, no network: names are not resolved, and a request for anything but the
page's own file is recorded. The browser ends when the pipe is closed, so it cannot outlive a test.
Protocol: https://chromedevtools.github.io/devtools-protocol/
"""

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

#: Names the browser to use; otherwise the first of NAMES that is installed.
VARIABLE = "BEOWIRE_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

TIMEOUT_S = 60.0

_OPTIONS = (
    "--headless",
    "--no-sandbox",  # its sandbox refuses root and most containers; the page is our own
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--no-first-run",
    "--no-default-browser-check",
    "--password-store=basic",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)

#: Gives the browser its ends of the pipes as descriptors 3 and 4, and adopts and buries every
#: process that it starts: when this ends, all of them have ended.
_UNDERTAKER = """
import ctypes, os, sys
PR_SET_CHILD_SUBREAPER = 36
ends = [int(text) for text in sys.argv[1:3]]
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
if os.fork() == 0:
    os.dup2(ends[0], 3)
    os.dup2(ends[1], 4)
    os.execv(sys.argv[3], sys.argv[3:])
for end in ends:
    os.close(end)
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
"""


class BrowserError(Exception):
    """The browser is missing, does not answer, or a script in the page failed."""


def find_browser() -> str:
    """The browser's path. BrowserError, in one line, if there is none."""
    chosen = os.environ.get(VARIABLE)
    for name in [chosen] if chosen else NAMES:
        if path := shutil.which(name):
            return path
    raise BrowserError(
        f"no browser ({chosen or ', '.join(NAMES)}): apt-get install chromium, or set {VARIABLE}"
        " to the path of a Chromium or Chrome"
    )


class Browser:
    """A running browser with one page. A context manager; not thread-safe."""

    def __init__(self, width: int = 1280, height: int = 900) -> None:
        self._size = (width, height)
        self._pending = b""
        self._number = 0
        self._session: str | None = None
        self.errors: list[str] = []
        """What the page's console calls an error or a warning, since `open`."""
        self.requests: list[str] = []
        """Every URL that the page asked for, since `open`."""

    def __enter__(self) -> "Browser":
        path = find_browser()
        self._home = tempfile.TemporaryDirectory(
            prefix="beowire-browser-", ignore_cleanup_errors=True
        )
        down_read, self._down = os.pipe()
        self._up, up_write = os.pipe()
        # The browser wants its ends as descriptors 3 and 4. They are moved up first, so that
        # neither is overwritten before it was duplicated.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 16) for end in (down_read, up_write)]
        os.close(down_read)
        os.close(up_write)
        home = self._home.name
        environment = os.environ | {"HOME": home, "XDG_RUNTIME_DIR": home, "TMPDIR": home}
        self._log = (Path(home) / "stderr").open("wb")
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", _UNDERTAKER, *map(str, ends), path),
                *(*_OPTIONS, f"--user-data-dir={home}/profile", "about:blank"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=ends,
            env=environment,
            start_new_session=True,
        )
        for end in ends:
            os.close(end)
        try:
            self._attach()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(BrowserError, OSError):
            self._session = None
            self.call("Browser.close")
        self._end()

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Sends a command to the page (or, before there is one, the browser); its result."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._down, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self._receive(deadline, method)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error'].get('message')}")
                result: dict[str, Any] = answer.get("result", {})
                return result
            self._note(answer)

    def open(self, page: Path) -> None:
        """Opens a file, and returns when its scripts have run."""
        self.errors.clear()
        self.requests.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.wait("document.readyState === 'complete'")

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page, as JSON; of a promise, what it resolves to."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            text = details.get("exception", {}).get("description", details.get("text"))
            raise BrowserError(f"{script}: {text}")
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Returns when an expression has become true, looked at in each frame that is drawn."""
        deadline = time.monotonic() + TIMEOUT_S
        look = f"new Promise((done) => requestAnimationFrame(() => done(Boolean({condition}))))"
        while True:
            with suppress(BrowserError):  # the page is being replaced
                if self.evaluate(look):
                    return
            if time.monotonic() > deadline:
                raise BrowserError(f"did not become true in {TIMEOUT_S:g} s: {condition}")

    def resize(self, width: int, height: int) -> None:
        """Makes the page that many CSS pixels wide and high."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def emulate(self, *, medium: str = "screen", scheme: str = "light") -> None:
        """Switches between screen and print, light and dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=medium, features=features)

    def middle(self, element: str) -> tuple[float, float]:
        """Scrolls an element (an expression) into view; where its middle is then."""
        box = self.evaluate(
            f"(() => {{ const e = {element}; e.scrollIntoView({{block: 'center',"
            " behavior: 'instant'}); const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return float(box[0]), float(box[1])

    def hover(self, element: str) -> None:
        """Moves the mouse to the middle of an element."""
        x, y = self.middle(element)
        self._mouse("mouseMoved", x - 30, y - 30)
        self._mouse("mouseMoved", x, y)

    def click(self, element: str) -> None:
        """Clicks the middle of an element."""
        self.hover(element)
        x, y = self.middle(element)
        for kind in ("mousePressed", "mouseReleased"):
            self._mouse(kind, x, y, button="left", clickCount=1)

    def _mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def _attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(*self._size)
        self.emulate()

    def _receive(self, deadline: float, waiting_for: str) -> dict[str, Any]:
        while b"\0" not in self._pending:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._up], [], [], max(0.0, left))
            data = os.read(self._up, 1 << 20) if ready else b""
            if not data:
                state = "ended" if ready else f"did not answer in {TIMEOUT_S:g} s"
                raise BrowserError(f"the browser {state} ({waiting_for}): {self._last_words()}")
            self._pending += data
        message, _, self._pending = self._pending.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def _note(self, event: Mapping[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning", "assert"):
                self.errors.append(json.dumps(parameters["args"]))
            case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                self.errors.append(json.dumps(parameters["entry"]))
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])

    def _last_words(self) -> str:
        text = (Path(self._home.name) / "stderr").read_text(errors="replace").strip()
        return text.splitlines()[-1] if text else "it said nothing"

    def _end(self) -> None:
        for pipe in (self._down, self._up):
            with suppress(OSError):
                os.close(pipe)
        try:
            self._process.wait(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._log.close()
        self._home.cleanup()
