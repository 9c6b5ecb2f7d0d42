"""A visitor who does things at random, from a seed, and what must hold after each of them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.forms import FORMS
from gpusizer.ui.presenters.pieces.words import Words

MODELS = ("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-8B", "openai/gpt-oss-20b")
GPUS = ("4090", "3070", "h100", "2x3090", "L40S")

NUMBERS = {
    "context": ("4096", "16384"),
    "concurrency": ("1", "4"),
    "requests_per_second": ("0.5", ""),
    "min_tok_s": ("5", ""),
    "max_usd": ("20000", ""),
    "used_gb": ("1", ""),
    "ram_gb": ("64", ""),
    "usd_per_kwh": ("0.3", ""),
    "sequence_length": ("1024", "4096"),
    "micro_batch": ("1", "2"),
}

CLICKS = {
    "order": ("[data-rank]", "data-rank"),
    "drop": ("[data-remove]", "data-remove"),
    "view": (".gs-views [data-view]", "data-view"),
    "fold": (".gs-fold > button", ""),
    "example": ("[data-model]", "data-model"),
    "for": ("[data-purpose]", "data-purpose"),
}
_FIRST = {
    "size": "#gs-model",
    "compare": "#gs-compare-model",
    "train": "#gs-train-model",
    "reverse": "#gs-reverse-gpu",
}
_OTHER_TABS = ("know",)
IDLE = """() => [
  Boolean(window.gsLoaded) && !document.querySelector('.gs-status, [aria-busy=true]'),
  performance.now() - (window.changedAt ?? 0),
]"""
_LONG_QUIET_MS = 4000
_QUIET_MS = 900  # without a change; a field that is left is asked about after 250 ms

WATCH = """(() => {
  window.changedAt = performance.now();
  new MutationObserver(() => { window.changedAt = performance.now(); })
    .observe(document, {childList: true, subtree: true, characterData: true});
})();"""

# content of the open tab, in a form to compare
SEEN = """() => {
  const shown = id => {
    const part = document.querySelector(id);
    return part && part.checkVisibility() ? part : null;
  };
  const text = id => shown(id)?.textContent.replace(/\\s+/g, ' ').trim() ?? '';
  const tab = document.querySelector('#gs-tabs [role=tab][aria-selected=true]').id
    .replace(/^gs-tab-|-button$/g, '');
  const all = (id, of) => [...document.querySelectorAll(id)]
    .filter(part => part.checkVisibility()).map(of);
  return {
    tab,
    name: text('#gs-answer .gs-eyebrow'),
    headline: text('#gs-answer h2'),
    memory: text('#gs-memory'),
    cards: all('[data-remove]', part => part.dataset.remove),
    order: all('[data-rank][aria-pressed=true]', part => part.dataset.rank),
    training: text('#gs-training'),
    models: text('#gs-reverse'),
    errors: all('#gs-error, .toast-body', part => part.innerText),
    messages: all('.gs-message', part => part.innerText),
  };
}"""

LAID_OUT = """() => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) faults.push(`the page is ${root.scrollWidth} px wide`);
  const parts = [];
  const walker = document.createTreeWalker(
    document.querySelector('main') ?? document.body, NodeFilter.SHOW_TEXT,
  );
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const part = node.parentElement;
    const seen = part.checkVisibility({opacityProperty: true, visibilityProperty: true});
    if (!node.data.trim() || !seen) continue;
    if (part.closest('[role=grid], [role=listbox], .gs-grid, .gs-spinner')) continue;
    if (part.closest('textarea, option, script, style')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      let {left, right, top, bottom} = box;
      let cut = '';
      for (let up = part; up && up !== document.body; up = up.parentElement) {
        const style = getComputedStyle(up);
        if (style.position === 'fixed' || style.display === 'inline') continue;
        if (!/hidden|clip|auto|scroll/.test(style.overflowX + style.overflowY)) continue;
        const frame = up.getBoundingClientRect();
        const scrolls = /auto|scroll/.test(style.overflowX);
        if (!scrolls && frame.width > 2 && right > frame.right + 2) cut = 'cut';
        // Names of rows stay where the columns beside them are scrolled, which end behind them.
        const stays = scrolls && up.querySelector('th[scope=row]');
        const sticks = stays && getComputedStyle(stays).position === 'sticky';
        const behind = sticks && !part.closest('th[scope=row]');
        const edge = behind ? stays.getBoundingClientRect().right : frame.left;
        left = Math.max(left, edge); right = Math.min(right, frame.right);
        top = Math.max(top, frame.top); bottom = Math.min(bottom, frame.bottom);
      }
      if (cut && right - left > 2 && bottom - top > 2) faults.push(`cut: ${node.data.trim()}`);
      if (right - left > 2 && bottom - top > 2) {
        parts.push({left, right, top, bottom, part, text: node.data.trim().slice(0, 40)});
      }
    }
  }
  parts.sort((a, b) => a.top - b.top);
  for (let i = 0; i < parts.length; i++) {
    for (let j = i + 1; j < parts.length && parts[j].top < parts[i].bottom - 3; j++) {
      const [a, b] = [parts[i], parts[j]];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 3 && high > 4 && a.part !== b.part) faults.push(`“${a.text}” on “${b.text}”`);
    }
  }
  return [...new Set(faults)].slice(0, 5);
}"""


@dataclass
class Robot:
    """One visitor.

    `log` lists his actions, so that a failure can be read; `reproduced` holds the address that was
    last opened again, and its content: an equal one needs no second look.
    """

    page: Any
    twin: Any
    seed: int
    language: Language = "en"
    random: random.Random = field(init=False)
    log: list[str] = field(default_factory=list)
    picked: list[str] = field(default_factory=list)
    reproduced: tuple[str, dict[str, Any]] = ("", {})
    streams: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        for page in (self.page, self.twin):
            page.add_init_script(WATCH)
            page.on("request", lambda request: self._stream(request, begins=True))
            for event in ("requestfinished", "requestfailed"):
                page.on(event, lambda request: self._stream(request, begins=False))

    def _stream(self, request: Any, *, begins: bool) -> None:
        if "/queue/data" in request.url:
            (self.streams.add if begins else self.streams.discard)(request)

    def settle(self, page: Any) -> None:
        """Wait until nothing runs and nothing changes."""
        page.evaluate("() => { window.changedAt = performance.now(); }")
        until = time.monotonic() + 60
        while time.monotonic() < until:
            page.wait_for_timeout(60)
            ready, quiet_ms = page.evaluate(IDLE)
            # Chromium does not tell of each stream that it has ended.
            if quiet_ms > (_LONG_QUIET_MS if self.streams else _QUIET_MS) and ready:
                self.streams.clear()
                return
        raise AssertionError(f"it never ends: {self.log}")

    def do_something(self) -> None:
        """Act, and once in a while act again before the answer is there."""
        actions: list[Callable[[], str | None]] = [
            *[self.ask] * 4,
            *[self.change_a_number] * 3,
            *[partial(self.click, "order")] * 2,
            *[self.pick] * 3,
            *[partial(self.click, told) for told in ("drop", "view", "view", "fold", "fold")],
            *[partial(self.click, told) for told in ("example", "for")],
            self.machine,
            self.change_tab,
            self.change_language,
            self.go_back,
        ]
        for _ in range(self.random.choice((1, 1, 2))):
            done = None
            while done is None:
                action = self.random.choice(actions)
                done = action()
            self.log.append(done)
            moves = (self.change_language, self.change_tab, self.go_back)
            if action in moves or done.startswith("for "):
                break  # another tab opens, in which nothing can be done at once
            self.page.wait_for_timeout(self.random.choice((20, 200)))

    @property
    def tab(self) -> str:
        return str(self.page.evaluate(f"({SEEN})().tab"))

    def _one(self, selector: str) -> Any:
        """One of the visible elements, None without any."""
        parts = [part for part in self.page.locator(selector).all()[:40] if part.is_visible()]
        return self.random.choice(parts) if parts else None

    def ask(self) -> str | None:
        tab = self.tab
        if tab not in _FIRST:
            return None
        text = self.random.choice(GPUS if tab == "reverse" else MODELS)
        entry = self.page.locator(f"{_FIRST[tab]} :is(input, textarea)")
        entry.fill(text)
        if self.random.random() < 0.5:
            entry.press("Enter")
            return f"{tab}: {text}, Enter"
        self.page.locator("[id$=-go]:visible").first.click()
        return f"{tab}: {text}, button"

    def change_a_number(self) -> str | None:
        name = self.random.choice(list(NUMBERS))
        entry = self._entry(name)
        if not entry.count():
            return None
        text = self.random.choice(NUMBERS[name])
        entry.first.fill(text)
        entry.first.press(self.random.choice(("Enter", "Tab")))
        return f"{name} = {text!r}"

    def _entry(self, name: str) -> Any:
        """Return the visible fields of that name."""
        label = Words(self.language)(f"field.{name}.label")
        return self.page.get_by_label(label, exact=True).locator("visible=true")

    def pick(self) -> str | None:
        if self.random.random() < 0.5:
            row = self._one("#gs-ranking-grid [role=row] [data-pick]")
            if row is None:
                return None
            gpu = str(row.get_attribute("data-pick"))
            row.click()
        else:
            adder = self._one(".gs-adder input")
            if adder is None:
                return None
            gpu = self.random.choice(GPUS)
            adder.fill(gpu)
            adder.press("Enter")
        self.picked.append(gpu)
        return f"pick {gpu}"

    def click(self, told: str) -> str | None:
        """Click one of the visible elements of a kind."""
        selector, attribute = CLICKS[told]
        element = self._one(selector)
        if element is None:
            return None
        named = element.get_attribute(attribute) if attribute else ""
        element.click()
        return f"{told} {named}".rstrip()

    def machine(self) -> str | None:
        entry = self.page.locator("#gs-gpu input, #gs-train-gpu input").locator("visible=true")
        if not entry.count():
            return None
        text = self.random.choice(("3060 + 64 GB RAM", "4090", ""))
        entry.first.fill(text)
        entry.first.press("Enter")
        return f"machine {text!r}"

    def change_tab(self) -> str | None:
        name = self.random.choice([*_FIRST, "size", *_OTHER_TABS])
        button = self.page.locator(f"#gs-tab-{name}-button")
        if not button.is_visible():  # on a phone some are behind a menu
            return None
        button.click()
        return f"tab {name}"

    def change_language(self) -> str | None:
        self.settle(self.page)
        self.language = self.random.choice(LANGUAGES)
        link = self.page.locator(".gs-header nav a").nth(LANGUAGES.index(self.language))
        link.click()
        self.page.wait_for_function("() => window.gsLoaded")
        return f"language {self.language}"

    def go_back(self) -> str | None:
        self.settle(self.page)
        here = urlsplit(self.page.url).path
        if not self.page.evaluate(
            "() => { const at = navigation.currentEntry.index; const all = navigation.entries();"
            " return at > 1 && new URL(all[at - 1].url).pathname === location.pathname }"
        ):
            return None
        self.page.go_back()
        assert urlsplit(self.page.url).path == here
        self.page.wait_for_timeout(300)
        return "back"

    def check(self, *, anew: bool) -> None:
        """Assert what must hold once everything has been answered."""
        self.settle(self.page)
        seen = self.page.evaluate(SEEN)
        told = f"seed {self.seed}: {' · '.join(self.log)} → {self.page.url}"
        assert seen["errors"] == [], told
        own = [gpu for gpu in seen["cards"] if gpu in self.picked]
        assert seen["messages"] == [] or len(own) >= 4, (seen["messages"], told)
        self._belongs(seen, told)
        faults = self.page.evaluate(LAID_OUT)
        assert faults == [], (faults, told)
        if anew and self.reproduced != (self.page.url, seen):
            self.twin.set_viewport_size(self.page.viewport_size)
            self.streams.clear()  # of the page that the twin leaves
            self.twin.goto(self.page.url)
            self.settle(self.twin)
            again = self.twin.evaluate(SEEN)
            for name in set(seen) - {"messages"}:
                assert again[name] == seen[name], (name, told)
            self.reproduced = (self.page.url, seen)

    def _belongs(self, seen: dict[str, Any], told: str) -> None:
        """Check that the answer is to the question in the fields, which the address states."""
        address = {
            name: values[0] for name, values in parse_qs(urlsplit(self.page.url).query).items()
        }
        tab = seen["tab"]
        assert tab == address.get("tab", "size"), told
        if tab not in _FIRST:
            return
        first = self.page.locator(f"{_FIRST[tab]} :is(input, textarea)").input_value()
        assert first == address.get("gpu" if tab == "reverse" else "model", ""), told
        if tab == "size" and first:
            assert seen["name"] == first, told
            # A rate of requests has a plan with a fixed order.
            ranked = "requests_per_second" not in address
            order = [address.get("rank_by", "recommended")] if ranked else []
            assert seen["order"] == order, told
        if tab in ("size", "compare"):
            # A pick that is also the visitor's own machine cannot be removed.
            picks = address.get("gpus", "").split(",")
            removable = [gpu for gpu in picks if gpu and gpu != address.get("gpu")]
            assert seen["cards"] == removable, (seen["cards"], told)
        for name in NUMBERS:
            entry = self._entry(name)
            if entry.count() and first:
                value = entry.first.input_value()
                assert value == address.get(name, FORMS[tab].usual(name)), (name, told)
