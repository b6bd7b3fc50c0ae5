// Brings changes to a page that works without it. It writes no markup of its own: pieces come from the server.
"use strict";

const body = document.body;

/* ---- changes as they happen ---- */

let source = null;
// The last entry of the log that this page shows.
let seen = new URLSearchParams((body.dataset.live || "").split("?")[1]).get("n");

function holdsWork(element) {
  // What a person is typing into is not replaced under their hands.
  const fields = [...element.querySelectorAll("textarea, input[type=text], input[type=number]")];
  return element.contains(document.activeElement) || fields.some((field) => field.value !== field.defaultValue);
}

function put(change) {
  const list = document.getElementById(change.l);
  if (!list) return;
  const known = document.getElementById(change.i);
  const made = document.createElement("template");
  made.innerHTML = change.p;
  const fresh = made.content.firstElementChild;
  if (!fresh) return;
  const inPlace = known && known.parentElement === list;
  if (inPlace && known.dataset.h === fresh.dataset.h) return;
  if (inPlace && holdsWork(known)) {
    known.addEventListener("focusout", () => setTimeout(() => { if (!holdsWork(known)) put(change); }, 150), { once: true });
    return;
  }
  if (known) {
    for (const open of known.querySelectorAll("details[open][id]")) {
      const same = fresh.querySelector("#" + CSS.escape(open.id));
      if (!same) continue;
      same.open = true;
      const part = open.querySelector(".part[data-done]");
      const place = same.querySelector(".part");
      if (part && place) place.replaceWith(part);
    }
  }
  const focused = known && known.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  const after = change.a ? document.getElementById(change.a) : null;
  if (known) known.remove();
  if (after && after.parentElement === list) after.after(fresh);
  else list.prepend(fresh);
  if (focused) fresh.querySelector("a[href=" + JSON.stringify(focused) + "]")?.focus();
}

function change(event) {
  seen = event.lastEventId;
  for (const one of JSON.parse(event.data)) {
    if (one.d) {
      const gone = document.getElementById(one.d);
      if (gone && !(gone.classList.contains("entry"))) gone.remove();
    } else put(one);
  }
  markOpen();
  tick();
}

let watched = "";

function watch(address) {
  if (source) source.close();
  watched = address;
  if (!address) return;
  source = new EventSource(address);
  source.addEventListener("change", change);
  const offline = document.getElementById("offline");
  source.onopen = () => { offline.hidden = true; };
  source.onerror = () => { setTimeout(() => { if (source.readyState !== EventSource.OPEN) offline.hidden = false; }, 4000); };
}

// A browser keeps a page that was left, for going back, and has few connections for one server: with this one open the next
// pages would wait for it.
addEventListener("pagehide", () => { if (source) source.close(); });
addEventListener("pageshow", (event) => { if (event.persisted) watch(watched); });

/* ---- clocks ---- */

function duration(ms) {
  if (ms < 1000) return ms + " ms";
  if (ms < 60000) return Math.floor(ms / 1000) + "." + Math.floor(ms % 1000 / 100) + " s";
  const two = (number) => String(number).padStart(2, "0");
  if (ms < 3600000) return Math.floor(ms / 60000) + " min " + two(Math.floor(ms / 1000) % 60) + " s";
  return Math.floor(ms / 3600000) + " h " + two(Math.floor(ms / 60000) % 60) + " min";
}

function age(ms) {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 5) return "just now";
  if (seconds < 60) return seconds + " s ago";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min ago";
  if (seconds < 172800) return Math.floor(seconds / 3600) + " h ago";
  return Math.floor(seconds / 86400) + " days ago";
}

function tick() {
  for (const clock of document.querySelectorAll(".clock[data-at]")) {
    const more = Math.max(0, Date.now() - Number(clock.dataset.at));
    const total = Number(clock.dataset.ms) + more;
    clock.textContent = duration(total < 60000 ? Math.floor(total / 1000) * 1000 : total);
  }
  for (const time of document.querySelectorAll("time[datetime]")) {
    time.textContent = age(Math.max(0, Date.now() - Date.parse(time.dateTime)));
  }
}

/* ---- the board and its task ---- */

const board = document.querySelector(".board");

function openTask() {
  const match = location.pathname.match(/\/runs\/[^/]+\/tasks\/(.+)$/);
  return match ? decodeURIComponent(match[1]) : null;
}

function markOpen() {
  if (!board) return;
  const open = openTask();
  for (const link of board.querySelectorAll(".task-link")) {
    if (link.dataset.task === open) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

async function showTask(address, focus) {
  const pane = document.getElementById("task");
  const answer = await fetch(address + "?part=1");
  if (!answer.ok) { location.href = address; return; }
  pane.innerHTML = await answer.text();
  board.toggleAttribute("data-open", true);
  pane.scrollTop = 0;
  if (focus) pane.focus({ preventScroll: innerWidth >= 960 });
  if (innerWidth < 960) board.scrollIntoView();
  markOpen();
  document.querySelector(".skip").hash = "main";
  watch(board.dataset.run + "/live?view=&n=" + seen + "&task=" + encodeURIComponent(openTask() || ""));
}

if (board) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-task]");
    if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, "", link.getAttribute("href"));
    showTask(link.getAttribute("href"), event.detail === 0 || innerWidth < 960);
  });
  addEventListener("popstate", () => location.reload());
}

/* ---- parts that are fetched when they are opened ---- */

document.addEventListener("toggle", async (event) => {
  const details = event.target;
  const part = details.open && details.dataset && details.dataset.part ? details.querySelector(".part") : null;
  if (!part || part.dataset.done) return;
  part.dataset.done = "1";
  const answer = await fetch(details.dataset.part + "?part=1");
  if (answer.ok) part.innerHTML = await answer.text();
}, true);

/* ---- keys: j and k, or the arrows, go through tasks and runs; / searches ---- */

function step(by) {
  const links = [...document.querySelectorAll(".task-link, .run-link")].filter((link) => link.checkVisibility());
  if (links.length === 0) return false;
  const at = links.indexOf(document.activeElement);
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by;
  links[Math.min(links.length - 1, Math.max(0, next))].focus();
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select") || event.metaKey || event.ctrlKey || event.altKey) return;
  const onList = document.activeElement.matches?.(".task-link, .run-link");
  const by = { j: 1, k: -1, ArrowDown: onList ? 1 : 0, ArrowUp: onList ? -1 : 0 }[event.key];
  if (by && step(by)) event.preventDefault();
  const key = event.key === "=" ? "+" : event.key;
  const link = event.target.closest(".timeline-scroll") ? null : document.querySelector("[data-key=" + JSON.stringify(key) + "]");
  if (link) { link.click(); event.preventDefault(); }
  if (event.key === "/") { document.querySelector(".search input").focus(); event.preventDefault(); }
});

/* ---- the sheet ---- */

const form = document.querySelector("form.sheet");

function lines(text, found) {
  const backdrop = form.querySelector(".backdrop");
  backdrop.replaceChildren(...text.split("\n").map((line, at) => {
    const span = document.createElement("span");
    span.textContent = line + "\n";
    if (found.has(at + 1)) span.className = found.get(at + 1);
    return span;
  }));
}

function found() {
  const marks = new Map();
  for (const issue of document.querySelectorAll("#sheet-check .issues li")) {
    const line = Number(issue.dataset.line);
    if (marks.get(line) !== "error") marks.set(line, issue.className);
  }
  return marks;
}

if (form) {
  const text = form.querySelector("textarea");
  const backdrop = form.querySelector(".backdrop");
  let waiting = 0;
  let asked = 0;
  const draw = () => { lines(text.value, found()); backdrop.scrollTop = text.scrollTop; };
  const check = async () => {
    const number = ++asked;
    const fields = new URLSearchParams({ part: "1", text: text.value });
    const answer = await fetch(form.dataset.check, { method: "POST", body: fields });
    const words = await answer.text();
    if (number !== asked || !answer.ok) return;
    document.getElementById("sheet-check").innerHTML = words;
    draw();
  };
  text.addEventListener("input", () => { draw(); clearTimeout(waiting); waiting = setTimeout(check, 350); });
  text.addEventListener("scroll", () => { backdrop.scrollTop = text.scrollTop; });
  form.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-line]");
    if (!button) return;
    const before = text.value.split("\n").slice(0, Number(button.dataset.line) - 1).join("\n");
    const at = before.length + (before ? 1 : 0) + Number(button.dataset.column) - 1;
    text.focus();
    text.setSelectionRange(at, at);
  });
  form.addEventListener("submit", () => { text.defaultValue = text.value; });
  addEventListener("beforeunload", (event) => { if (text.value !== text.defaultValue) event.preventDefault(); });
  draw();
}

/* ---- the log ---- */

const filter = document.querySelector("[data-filter]");
if (filter) {
  const apply = () => {
    const word = filter.value.toLowerCase();
    for (const entry of document.getElementById(filter.dataset.filter).children) {
      entry.hidden = word !== "" && !entry.textContent.toLowerCase().includes(word);
    }
  };
  filter.addEventListener("input", apply);
  new MutationObserver(apply).observe(document.getElementById(filter.dataset.filter), { childList: true });
}

markOpen();
tick();
setInterval(tick, 1000);
watch(body.dataset.live);
