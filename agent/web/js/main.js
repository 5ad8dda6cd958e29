/** The question field, which takes a question before the other modules are loaded. */

import "./trusted.js";
import { byId, make } from "./dom.js";
import { isEmbedded } from "./embedded.js";
import { addLanguageSwitch, say, sayAll } from "./language.js";
import { addThemeSwitch } from "./theme.js";

const question = byId("question");
const app = import("./app.js").then(({ start }) => start(fit));

/** Let the field be as high as its text; the style bounds it. */
function fit() {
  question.style.height = "auto";
  question.style.height = `${question.scrollHeight}px`;
}

async function send() {
  (await app).send();
}

/** A button that is clicked before its module is loaded is clicked again then. */
async function clickAgain({ target }) {
  const button = target.closest("button[type=button]");
  await app;
  button?.click();
}

/** Files that are chosen or dropped before their module is loaded are taken then; the browser would open a dropped one. */
async function takeFilesLater(event) {
  if (event.type === "dragover" || event.type === "drop") event.preventDefault();
  const files = [...((event.type === "drop" ? event.dataTransfer : event.target).files ?? [])];
  if (files.length) (await app).takeFiles(files);
}

byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
question.addEventListener("keydown", (event) => {
  // While Chinese is being composed, Enter takes a word; Safari has ended the composition before, and tells it by 229.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  send();
});
question.addEventListener("input", fit);
const early = { click: clickAgain, dragover: takeFilesLater, drop: takeFilesLater, change: takeFilesLater };
for (const [event, take] of Object.entries(early)) document.addEventListener(event, take);
app.then(
  () => {
    for (const [event, take] of Object.entries(early)) document.removeEventListener(event, take);
    document.documentElement.dataset.started = "";
  },
  () => byId("file-state").replaceChildren(say(make("p", { class: "error", role: "alert" }), "page_incomplete")),
);
document.body.classList.toggle("embedded", isEmbedded);
sayAll();
addLanguageSwitch(byId("language"));
addThemeSwitch(byId("theme"));
document.documentElement.dataset.ready = "";
question.focus();
