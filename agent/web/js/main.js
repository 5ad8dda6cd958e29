/** The page: what is on it comes to life. */

import "./trusted.js";
import { addSources, where } from "./chosen.js";
import { addBoards } from "./boards.js";
import { chooseByKey } from "./clarification.js";
import { Conversation, keptConversation } from "./conversation.js";
import { byId } from "./dom.js";
import { addFiles } from "./files.js";
import { addLanguageSwitch, sayAll } from "./language.js";
import { addThemeSwitch } from "./theme.js";

const conversation = new Conversation(byId("turns"), where);
const question = byId("question");

async function send() {
  await restored;
  const words = question.value.trim();
  if (words && conversation.ask(words)) {
    question.value = "";
    fit();
  }
  question.focus();
}

/** Let the field be as high as its text; the style bounds it. */
function fit() {
  question.style.height = "auto";
  question.style.height = `${question.scrollHeight}px`;
}

function keys(event) {
  if (event.target.closest("dialog")) return;
  if (event.key === "Escape") conversation.stop();
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea, select")) return;
  if (event.key === "/") {
    event.preventDefault();
    question.focus();
  }
  chooseByKey(event.key);
}

byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
question.addEventListener("keydown", (event) => {
  // While Chinese is being composed, Enter takes a word.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
question.addEventListener("input", fit);
document.addEventListener("keydown", keys);
byId("anew").addEventListener("click", () => {
  conversation.restart();
  byId("ask").disabled = false;
  question.focus();
});

sayAll();
addLanguageSwitch(byId("language"));
addThemeSwitch(byId("theme"));
addFiles();
question.focus();
addBoards();
const before = keptConversation();
const ready = addSources(before?.named ?? {});
const restored = before && conversation.restore(before, ready);
