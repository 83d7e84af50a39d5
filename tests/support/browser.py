"""A headless Chromium that opens files, clicks and types, over the pipe of its debugging protocol.

Run as ``python tests/support/browser.py FILE WIDTH [--dark] [--png PNG]`` for the height of a page
at a width, and a picture of all of it.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def chromium() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browser() -> Iterator[Page]:
    """Yield a page of a Chromium that has no profile and ends with the block."""
    program = chromium()
    assert program, f"none of {', '.join(NAMES)} is installed"
    commands_read, commands_write = os.pipe()
    answers_read, answers_write = os.pipe()
    # It reads commands from 3 and writes answers to 4.
    start = f'exec "$0" "$@" 3<&{commands_read} 4>&{answers_write}'
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            ["bash", "-c", start, program, *FLAGS, f"--user-data-dir={profile}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(commands_read, answers_write),
        )
        os.close(commands_read)
        os.close(answers_write)
        with os.fdopen(commands_write, "wb") as commands, os.fdopen(answers_read, "rb") as answers:
            try:
                yield Page(commands, answers)
            finally:
                process.terminate()
                process.wait()


class Page:
    """One tab. Coordinates are of the viewport, as a reader's mouse has them."""

    def __init__(self, commands: Any, answers: Any) -> None:
        self.commands, self.answers = commands, answers
        self.number, self.session, self.unread = 0, "", b""
        self.events: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        self.call("Page.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.commands.write(json.dumps(message).encode() + b"\0")
        self.commands.flush()
        while (answer := self.read()).get("id") != self.number:
            pass
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def read(self) -> dict[str, Any]:
        """Return the next message; the names of events are kept, as one may precede an answer."""
        while b"\0" not in self.unread:
            part = self.answers.read1(65536)
            assert part, "Chromium ended"
            self.unread += part
        message, _, self.unread = self.unread.partition(b"\0")
        said = json.loads(message)
        self.events += [said["method"]] if "method" in said else []
        return said

    def load(self, url: str) -> None:
        self.events.clear()
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.events:
            self.read()

    def show(self, file: Path, anchor: str = "", width: int = 1280, dark: bool = False) -> None:
        """Open a file as a reader with this width of window and colour scheme sees it."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.load("about:blank")  # a new anchor alone would load nothing
        self.load(file.resolve().as_uri() + anchor)

    def value(self, script: str) -> Any:
        said = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def click(self, element: str) -> None:
        """Press and release the mouse on the middle of an element, given as an expression."""
        self.value(f"{element}.scrollIntoView({{block: 'center'}})")
        box = self.value(f"{element}.getBoundingClientRect().toJSON()")
        where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        for event in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=event, button="left", clickCount=1, **where)
        self.value("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def height(self) -> int:
        return self.value("document.documentElement.scrollHeight")

    def picture(self, png: Path, whole: bool = True) -> None:
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        png.write_bytes(base64.b64decode(data))


def main() -> None:
    file, width, *rest = sys.argv[1:]
    with browser() as page:
        page.show(Path(file), width=int(width), dark="--dark" in rest)
        print(page.height(), page.value("document.documentElement.scrollWidth"))
        if "--png" in rest:
            page.picture(Path(rest[rest.index("--png") + 1]))


if __name__ == "__main__":
    main()
