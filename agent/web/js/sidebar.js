/** The user's conversations beside the page: found, renamed, and deleted. On narrow screens it is a drawer. */

import { got, request, sendJson } from "./api.js";
import { confirmed, named, signButton } from "./controls.js";
import { announce, byId, make } from "./dom.js";
import { onceKeyGiven } from "./key.js";
import { current as language, say, text } from "./language.js";

const SHOWN_MS = 8000;
const SEARCH_MS = 200;
const NARROW = matchMedia("(max-width: 69.99rem)");

let current = null;
let latest = 0;
let deleted = () => {};

/** Show the list; `onDeleted(thread)` is called when a conversation has been removed from it. */
export function addSidebar(onDeleted) {
  deleted = onDeleted;
  let waiting = 0;
  byId("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(load, SEARCH_MS);
  });
  byId("menu").addEventListener("click", () => open(true));
  byId("shade").addEventListener("click", () => open(false));
  byId("conversations").addEventListener("click", (event) => {
    if (event.target.closest("a") && NARROW.matches) open(false);
  });
  byId("sidebar").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !NARROW.matches) return;
    event.stopPropagation();
    open(false);
  });
  NARROW.addEventListener("change", () => open(false, false));
  load();
}

/** Mark `thread` as the one that is shown, and read the list again. */
export function refresh(thread) {
  current = thread;
  load();
}

/** Show `words` for some seconds, and have them read. */
export function notify(words) {
  const toast = make("div", { class: "toast", dir: "auto" }, words);
  byId("toasts").replaceChildren(toast);
  setTimeout(() => toast.remove(), SHOWN_MS);
  announce(words);
}

function open(isOpen, moves = true) {
  byId("sidebar").toggleAttribute("data-open", isOpen);
  byId("shade").hidden = !isOpen;
  byId("menu").setAttribute("aria-expanded", String(isOpen));
  for (const each of [document.querySelector("header"), document.querySelector("main")]) each.inert = isOpen;
  if (moves) byId(isOpen ? "search" : "menu").focus();
}

async function load() {
  latest += 1;
  const number = latest;
  try {
    const query = new URLSearchParams({ search: byId("search").value });
    const { threads } = await got(`threads?${query}`, { asksKey: false });
    if (number === latest) show(threads);
  } catch (error) {
    // Without the list the page works as before; the errors of questions are shown with them.
    if (error.status === 401) onceKeyGiven(load);
  }
}

function show(threads) {
  const focused = document.activeElement?.closest("#conversations li")?.dataset.thread;
  const days = Map.groupBy(threads, ({ updated }) => new Date(updated).setHours(0, 0, 0, 0));
  byId("conversations").replaceChildren(...[...days].map(([day, those]) => make("section", {}, say(make("p", { class: "day" }), () => dayText(day)),
    say(make("ul", {}, ...those.map(item)), () => dayText(day), {}, "aria-label"))));
  const key = byId("search").value.trim() ? "conversations_not_found" : "conversations_none";
  byId("conversations-none").hidden = threads.length > 0;
  say(byId("conversations-none"), key);
  if (focused) byId("conversations").querySelector(`[data-thread="${focused}"] a`)?.focus();
}

function item(thread) {
  const { thread_id: id, title } = thread;
  const link = make("a", { href: `#/${id}`, dir: "auto", title, "aria-current": id === current && "page" }, title);
  const drop = confirmed(() => "×", "delete_sure", () => remove(thread), { class: "small" });
  const element = make("li", { "data-thread": id }, link, signButton("✎", "rename", { name: title }, () => edit(element, thread)),
    named(drop, "delete", { name: title }));
  return element;
}

/** Return a day, given as its beginning: "Today", "Yesterday", or its date. */
function dayText(day) {
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - day) / 86_400_000);
  if (days > 1) return new Date(day).toLocaleDateString(language(), { dateStyle: "medium" });
  const name = new Intl.RelativeTimeFormat(language(), { numeric: "auto" }).format(-days, "day");
  return name[0].toLocaleUpperCase(language()) + name.slice(1);
}

function edit(element, { thread_id: id, title }) {
  const field = say(make("input", { value: title, maxlength: 200, dir: "auto" }), "title", {}, "aria-label");
  let isDone = false;
  const end = async (isKept) => {
    if (isDone) return;
    isDone = true;
    const words = field.value.trim();
    try {
      if (isKept && words && words !== title) await sendJson("PATCH", `threads/${id}`, { title: words });
    } catch (error) {
      notify(error.message);
    }
    await load();
    if (isKept !== null) byId("conversations").querySelector(`[data-thread="${id}"] a`)?.focus();
  };
  field.addEventListener("keydown", (event) => {
    if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    end(event.key === "Enter");
  });
  field.addEventListener("blur", () => end(null));
  element.replaceChildren(field);
  field.focus();
  field.select();
}

async function remove({ thread_id: thread, title }) {
  const element = byId("conversations").querySelector(`[data-thread="${thread}"]`);
  const next = element.nextElementSibling ?? element.previousElementSibling;
  (next?.querySelector("a") ?? byId("search")).focus();
  try {
    await request(`threads/${thread}`, { method: "DELETE" });
    deleted(thread);
    notify(text("deleted", { name: title }));
  } catch (error) {
    notify(error.message);
  }
  load();
}
