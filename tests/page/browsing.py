"""A real browser without a window: Debian's chromium, driven by selenium."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tests.controlplane.servers import wait_for

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

T = TypeVar("T")

TAB, ENTER = "\ue004", "\ue007"
LEFT, UP, RIGHT, DOWN = "\ue012", "\ue013", "\ue014", "\ue015"
"""Keys that have no letter, as drivers call them."""

WAIT_SECONDS = 30.0
_SCRIPT_SECONDS = 60.0


def missing() -> str:
    """What has to be installed for a browser; empty if nothing."""
    if importlib.util.find_spec("selenium") is None:
        return "selenium is not installed: pip install selenium"
    lacking = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if not lacking:
        return ""
    return f"{' and '.join(lacking)} not found; on Debian: apt-get install chromium chromium-driver"


class Browser:
    """One window with one page."""

    def __init__(self, driver: WebDriver) -> None:
        self.driver = driver
        driver.set_script_timeout(_SCRIPT_SECONDS)
        self.size(1280, 900)

    def size(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def colours(self, scheme: str) -> None:
        """What the system prefers: `light` or `dark`."""
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, url: str) -> None:
        """A page afresh: with neither token nor choices of an earlier one."""
        self.driver.get("about:blank")
        self.driver.get(url)

    def forget(self) -> None:
        """Forgets what the page stored."""
        self.run("sessionStorage.clear(); localStorage.clear()")

    def go(self, address: str) -> None:
        """To another view of the page."""
        self.run("location.hash = arguments[0]", address)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def ask(self, script: str, *arguments: Any) -> Any:
        """What the promise of an async script gives."""
        wrapped = (
            "const done = arguments[arguments.length - 1];"
            f"(async (...given) => {{ {script} }})(...[...arguments].slice(0, -1))"
            ".then((value) => done({ value }), (error) => done({ error: String(error) }))"
        )
        answer = self.driver.execute_async_script(wrapped, *arguments)
        assert "error" not in answer, answer["error"]
        return answer.get("value")

    def wait(self, what: str, condition: Callable[[], T], seconds: float = WAIT_SECONDS) -> T:
        return wait_for(what, condition, seconds=seconds)

    def wait_for_element(self, selector: str, seconds: float = WAIT_SECONDS) -> None:
        """Until an element is there and can be seen."""
        script = (
            "const found = document.querySelector(arguments[0]); return !!found && found.checkVisibility()"
        )
        self.wait(selector, lambda: self.run(script, selector), seconds)

    def wait_for_text(self, text: str, selector: str = "body") -> None:
        self.wait(f"{text!r} in {selector}", lambda: text in self.text(selector))

    def text(self, selector: str = "body") -> str:
        """What can be read there; empty if it is not there."""
        script = "const found = document.querySelector(arguments[0]); return found ? found.innerText : ''"
        return str(self.run(script, selector))

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText)"
        found: list[str] = self.run(script, selector)
        return found

    def click(self, selector: str) -> None:
        self.wait_for_element(selector)
        self.run("document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })", selector)
        self.driver.find_element("css selector", selector).click()

    def fill(self, label: str, text: str) -> None:
        """Types into the control with this label, in place of what it holds."""
        script = """
            const labels = [...document.querySelectorAll("main label")];
            const label = labels.find((each) => each.innerText === arguments[0]);
            const control = document.getElementById(label.htmlFor);
            control.value = ""; control.focus(); return control"""
        self.run(script, label).send_keys(text)

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        chain = ActionChains(self.driver)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def problems(self) -> list[str]:
        """What the console has of errors and warnings since the last time."""
        log: list[dict[str, Any]] = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")]

    def picture(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        assert self.driver.save_screenshot(str(file))


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser that ends with the block."""
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.chrome.webdriver import WebDriver

    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    flags = ["--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # as root it has none
    for flag in flags:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = WebDriver(options, Service(shutil.which("chromedriver") or ""))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
