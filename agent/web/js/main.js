/** The page: the question field, and what answers questions: the conversation, the sidebar, files, boards and the start. */

import "./trusted.js";
// Before the texts are waited for.
import { addThemeSwitch } from "./theme.js";
import { addressed, boardAddress, onAddress, showAddress } from "./address.js";
import { showBoard } from "./boards.js";
import { addSources, leaveFiles, where } from "./chosen.js";
import { chooseByKey } from "./clarification.js";
import { Conversation, keptConversation } from "./conversation.js";
import { byId } from "./dom.js";
import { addFiles, forgetLines } from "./files.js";
import { addLanguageSwitch, sayAll } from "./language.js";
import { closeMenus } from "./menu.js";
import { hidePreview } from "./preview.js";
import { addSidebar, refresh } from "./sidebar.js";
import { addStart } from "./start.js";

sayAll();
addLanguageSwitch(byId("language"));
addThemeSwitch(byId("theme"));

const conversation = new Conversation(byId("turns"), where, refresh);
const question = byId("question");
const report = byId("report");

/** Say whether what is sent next is a request for a report. */
function setReport(isReport) {
  report.setAttribute("aria-pressed", String(isReport));
  question.focus();
}

/** Let the field be as high as its text; the style bounds it. */
function fit() {
  question.style.height = "auto";
  question.style.height = `${question.scrollHeight}px`;
}

async function send() {
  await restored;
  const words = question.value.trim();
  if (words) {
    conversation.hear(words, report.getAttribute("aria-pressed") === "true");
    setReport(false);
    question.value = "";
    hidePreview();
    forgetLines();
    fit();
  }
  question.focus();
}

function keys(event) {
  if (event.target.closest("dialog")) return;
  if (event.key === "Escape" && !closeMenus()) conversation.stop();
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea, select") || event.composedPath()[0].isContentEditable) return;
  if (event.key === "/") {
    event.preventDefault();
    question.focus();
  }
  chooseByKey(event.key);
}

/** Show the board of the address, or else its conversation, and the answer in it. */
function show({ thread, run, board }) {
  const isBack = board === null && document.body.classList.contains("boarding");
  showBoard(board);
  if (board !== null) return;
  // Who leaves a board finds the conversation as it was.
  if (isBack && !thread) showAddress(conversation.thread, { isNew: false });
  else if (thread === conversation.thread) conversation.reveal(run);
  else if (thread) restored = conversation.restore(thread, ready, run);
  else conversation.restart();
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
document.addEventListener("keydown", keys);
report.addEventListener("click", () => setReport(report.getAttribute("aria-pressed") !== "true"));
byId("write-sql").addEventListener("click", () => conversation.write());
document.addEventListener("click", ({ target }) => closeMenus(target));
for (const button of document.querySelectorAll(".anew")) {
  button.addEventListener("click", () => {
    if (addressed().board !== null) {
      location.assign("#/");
      showBoard(null);
    }
    conversation.restart();
    leaveFiles();
    question.focus();
  });
}
byId("fold").addEventListener("click", ({ currentTarget: fold }) => fold.setAttribute("aria-expanded", String(fold.ariaExpanded === "false")));
onAddress(show);
byId("boards").addEventListener("click", () => location.assign(boardAddress()));
addSidebar((thread) => thread === conversation.thread && conversation.restart());
const { thread, run, board } = addressed();
const before = keptConversation(thread);
if (before) showAddress(before.thread, { isNew: false });
const ready = addSources(before?.named ?? {});
addFiles(ready);
addStart(ready, (words) => {
  question.value = words;
  send();
});
let restored = (before || thread) && conversation.restore(thread ?? before.thread, ready, run);
if (board !== null) showBoard(board);
document.documentElement.dataset.started = "";
question.focus();
